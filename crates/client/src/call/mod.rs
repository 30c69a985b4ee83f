//! The four call shapes, as generated code and tools call them.
//!
//! | file | concept |
//! |---|---|
//! | `accompanied` | calls with interceptors, credentials, or on behalf of another call |
//! | `plan` | options, deadline and retries, the same for all shapes |
//! | `quick` | the usual way of a unary call |
//! | `single` | calls with one response: unary and client streaming |
//! | `streaming` | calls with a stream of responses: server streaming and bidi |
//! | `bidi_request` | the request stream of a bidi call, through all starts of the call |
//! | `prepared` | messages that take work before they can be written |
//! | `pump` | from a source of messages into the connection |
//! | `replay` | a server-streaming call that is made again |

mod accompanied;
mod bidi_request;
mod plan;
mod prepared;
mod pump;
mod quick;
mod replay;
mod single;
mod streaming;

pub use self::single::{client_streaming, client_streaming_sender, unary};
pub use self::streaming::{bidi, bidi_sender, server_streaming};

/// Messages a `*_sender` call takes before `send` waits.
const SENDER_CAPACITY: usize = 16;
