//! The values of a call as handlers and callers see them.
//!
//! | file | concept |
//! |---|---|
//! | `context` | what a call passes on to calls that are made on its behalf |
//! | `credentials` | who a call is made for |
//! | `extensions` | values by type that travel with a request or response |
//! | `inbox` | incoming bytes of a streaming call, between the connection and the reader |
//! | `method` | names and shapes of methods and services |
//! | `options` | what a caller may set per call |
//! | `peer` | who is at the other end |
//! | `request`, `response` | a message with its metadata |
//! | `streaming` | incoming messages |
//! | `watch` | who looks on while they are read |

mod certificate;
mod context;
mod credentials;
mod extensions;
mod identity;
mod inbox;
mod method;
mod options;
mod peer;
mod request;
mod response;
mod streaming;
mod watch;

pub use crate::call::context::{CallContext, CallScope, Cancellation, Cancelled};
pub use crate::call::credentials::{Audience, BearerToken, CallCredentials, CredentialSet, Fixed};
pub use crate::call::extensions::Extensions;
pub use crate::call::identity::PeerIdentity;
pub use crate::call::inbox::{InboxConfig, InboxOwner, SharedInbox};
pub use crate::call::method::{
    InvalidMethodPath, MethodDescriptor, MethodPath, ServiceDescriptor, split_path,
};
pub use crate::call::options::CallOptions;
pub use crate::call::peer::{Peer, PeerAddr};
pub use crate::call::request::{IntoRequest, IntoStreamingRequest, Request};
pub use crate::call::response::Response;
pub use crate::call::streaming::{DecodeFn, Streaming};
pub use crate::call::watch::StreamWatch;
