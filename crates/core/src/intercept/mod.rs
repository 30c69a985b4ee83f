//! Interceptors: the user's code that sees every call, on a server or on a channel.
//!
//! An [`Interceptor`] is asked before a call begins. It may change what the call carries, refuse it, answer it in the
//! handler's place, and leave hooks behind that are called for each message and at the end. The server and the client
//! run them; here are the values that pass between.
//!
//! Order, on both sides: interceptors run in the order in which they were added, each after the one before it is
//! ready; the first that fails or answers is the last that runs. Message hooks run in that order too, end hooks in
//! reverse, so that the first interceptor has the last word.
//!
//! | file | concept |
//! |---|---|
//! | `call` | what an interceptor sees and may change |
//! | `end` | how a call ended |
//! | `message` | a message of any type |

mod call;
mod end;
mod message;

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;

pub use self::call::{Intercepted, InterceptedCall};
pub use self::end::{CallEnd, EndHooks};
pub use self::message::{Message, MessageHooks};
use crate::status::Status;

/// Sees every call of a server, a channel, a service or a method before it begins.
///
/// Authentication on a server:
///
/// ```
/// # use peregrine_core::{InterceptedCall, Interceptor, Status};
/// struct Bearer;
/// # #[derive(Clone)] struct User;
/// # async fn look_up(_token: &str) -> Option<User> { Some(User) }
///
/// impl Interceptor for Bearer {
///     async fn intercept(&self, call: &mut InterceptedCall<'_>) -> Result<(), Status> {
///         let token = call.metadata().get("authorization").and_then(|value| value.strip_prefix("Bearer "));
///         let user = look_up(token.unwrap_or_default()).await;
///         let user = user.ok_or_else(|| Status::unauthenticated("who are you?"))?;
///         call.extensions_mut().insert(user); // the handler's request has it
///         Ok(())
///     }
/// }
/// ```
///
/// A closure is an interceptor too, where nothing has to be waited for. Logging, on either side:
///
/// ```
/// # use peregrine_core::{InterceptedCall, Interceptor, Status};
/// # use std::time::Instant;
/// let log = |call: &mut InterceptedCall<'_>| {
///     let (path, begun) = (call.method().path.to_owned(), Instant::now());
///     call.on_end(move |end| println!("{path}: {:?} after {:?}", end.code(), begun.elapsed()));
///     Ok(())
/// };
/// # let _: &dyn Fn(&mut InterceptedCall<'_>) -> Result<(), Status> = &log;
/// # fn is_interceptor(_: impl Interceptor) {}
/// # is_interceptor(log);
/// ```
pub trait Interceptor: Send + Sync + 'static {
    /// Called before the call begins: on a server once it is known which method is called, before its message is
    /// decoded; on a client before anything is sent.
    ///
    /// # Errors
    /// The call is not made, or its handler does not run, and it ends with this status.
    fn intercept(&self, call: &mut InterceptedCall<'_>) -> impl Future<Output = Result<(), Status>> + Send;
}

impl<F> Interceptor for F
where
    F: Fn(&mut InterceptedCall<'_>) -> Result<(), Status> + Send + Sync + 'static,
{
    fn intercept(&self, call: &mut InterceptedCall<'_>) -> impl Future<Output = Result<(), Status>> + Send {
        std::future::ready(self(call))
    }
}

/// Interceptors of any types, in order. Cheap to clone; empty it holds no memory.
#[derive(Clone, Default)]
pub struct Interceptors {
    all: Vec<Arc<dyn Erased>>,
}

/// An [`Interceptor`] whose type is forgotten.
trait Erased: Send + Sync {
    fn intercept<'c>(&'c self, call: &'c mut InterceptedCall<'_>) -> Intercepting<'c>;
}

type Intercepting<'c> = Pin<Box<dyn Future<Output = Result<(), Status>> + Send + 'c>>;

impl<I: Interceptor> Erased for I {
    fn intercept<'c>(&'c self, call: &'c mut InterceptedCall<'_>) -> Intercepting<'c> {
        Box::pin(Interceptor::intercept(self, call))
    }
}

impl Interceptors {
    /// Adds one behind those that are there.
    pub fn push(&mut self, interceptor: impl Interceptor) {
        self.all.push(Arc::new(interceptor));
    }

    /// These, then `others`.
    #[must_use]
    pub fn then(&self, others: &Self) -> Self {
        Self { all: self.all.iter().chain(&others.all).cloned().collect() }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Runs them over a call that begins, up to the first that fails or answers it.
    ///
    /// # Errors
    /// The status of that one.
    pub async fn run(&self, call: &mut InterceptedCall<'_>) -> Result<(), Status> {
        for interceptor in &self.all {
            interceptor.intercept(call).await?;
            if call.is_answered() {
                break;
            }
        }
        Ok(())
    }
}

impl fmt::Debug for Interceptors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Interceptors").field("count", &self.all.len()).finish()
    }
}

#[cfg(test)]
mod tests;
