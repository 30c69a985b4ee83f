//! One call on the server: what its request head says, where its reply goes, and how it is written.

pub(crate) mod batch;
pub(crate) mod errors;
pub(crate) mod excerpt;
pub(crate) mod fields;
pub(crate) mod mailbox;
pub(crate) mod port;
pub(crate) mod reply_head;
pub(crate) mod reply_target;
pub(crate) mod request_head;
pub(crate) mod wire;
