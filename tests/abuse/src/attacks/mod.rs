//! The attacks, by what they abuse.
//!
//! Each has a number: its row in the list of `http2-abuse`, or 0 for one that only this design could suffer from.

pub mod blocks;
pub mod calls;
pub mod control;
pub mod data;
pub mod deaf;
pub mod design;
pub mod resets;
pub mod start;
mod tools;

use std::fmt;
use std::future::Future;
use std::pin::Pin;

use peregrine_server::Server;

use crate::{Ground, Seen};

/// What one hostile client does, and what may come of it.
pub struct Attack {
    /// Row of `http2-abuse`; 0 if it has none.
    pub row: u32,
    /// A few words.
    pub name: &'static str,
    /// Words that [`Seen`] must show, separated by `|` where several are right.
    pub reply: &'static str,
    /// Handlers that the attack may have running at once.
    pub handlers: usize,
    /// KiB by which the server's memory may grow meanwhile, what a scripted client in the same process needs
    /// included.
    pub memory: usize,
    /// How the server differs from one with default settings.
    pub server: fn(Server) -> Server,
    /// Does it.
    pub run: for<'g> fn(&'g Ground) -> Attacking<'g>,
}

/// An attack that is going on.
pub type Attacking<'g> = Pin<Box<dyn Future<Output = Seen> + 'g>>;

impl fmt::Debug for Attack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Attack").field("row", &self.row).field("name", &self.name).finish_non_exhaustive()
    }
}

impl Attack {
    /// Whether the server answered as it has to.
    pub fn accepts(&self, seen: &Seen) -> bool {
        let shown = seen.to_string();
        self.reply.split('|').any(|words| shown.contains(words))
    }
}

/// A server with default settings.
fn plain(server: Server) -> Server {
    server
}

/// Streams that a connection may have open by default, and so the handlers that one client can have running.
const STREAMS: usize = 100;

/// Every attack.
pub fn all() -> impl Iterator<Item = &'static Attack> {
    [resets::ALL, deaf::ALL, blocks::ALL, control::ALL, data::ALL, start::ALL, calls::ALL, design::ALL]
        .into_iter()
        .flatten()
        .copied()
}
