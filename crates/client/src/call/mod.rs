//! The four call shapes, as generated code and tools call them.
//!
//! A call goes down this list and never back up: its shape first, company around it if it has any, then its plan, which
//! starts it on a connection as often as it takes.
//!
//! | file | concept |
//! |---|---|
//! | `unary`, `client_streaming`, `server_streaming`, `bidi` | the shapes: a function each, and what the call is made of |
//! | `accompanied` | interceptors, credentials, and calls on behalf of others, around a call of any shape |
//! | `bidi_request` | the request stream of a bidi call, through all starts of the call |
//! | `replay` | a server-streaming call that is made again |
//! | `plan` | what holds for all starts of a call, and each start |
//! | `starts` | how often a call is started |
//! | `deadline` | when a call has to be over |
//! | `pump` | from a source of messages into the connection |
//! | `prepared` | messages that take work before they can be written |
//! | `reply` | the one response of a call |
//! | `response_stream` | the stream of responses of a call |

mod accompanied;
mod bidi;
mod bidi_request;
mod client_streaming;
mod deadline;
mod plan;
mod prepared;
mod pump;
mod replay;
mod reply;
mod response_stream;
mod server_streaming;
mod starts;
mod unary;

pub use self::bidi::{bidi, bidi_sender};
pub use self::client_streaming::{client_streaming, client_streaming_sender};
pub use self::server_streaming::server_streaming;
pub use self::unary::unary;

/// Messages a `*_sender` call takes before `send` waits.
const SENDER_CAPACITY: usize = 16;
