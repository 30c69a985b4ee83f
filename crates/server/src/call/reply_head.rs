//! The head of a reply: what it can say besides the user's metadata, and its encoded blocks.

use peregrine_core::Format;
use peregrine_core::compression::EncodingSet;
use peregrine_core::message::Encoding;
use peregrine_http2::{CachedBlock, Field};

/// What distinguishes the heads of replies on one connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ReplyHead {
    /// That of the request.
    pub(crate) format: Format,
    /// Whether it has `grpc-accept-encoding`: clients that send theirs may want to compress (wire-rules P3).
    pub(crate) names_accepted: bool,
}

impl ReplyHead {
    /// wire-rules 49
    pub(super) fn fields<'a>(self) -> impl Iterator<Item = Field<'a>> + Clone {
        let content_type = self.format.content_type().as_bytes();
        let fixed = [Field::new(b":status", b"200"), Field::new(b"content-type", content_type)];
        let accept = (self.names_accepted && !EncodingSet::supported().is_identity_only())
            .then(|| Field::new(b"grpc-accept-encoding", Encoding::SUPPORTED.as_bytes()));
        fixed.into_iter().chain(accept)
    }
}

/// The encoded heads of replies without metadata, one of each sort that a connection has sent.
#[derive(Debug, Default)]
pub(super) struct ReplyHeads {
    /// By itself, since many connections need no other.
    plain: CachedBlock,
    others: Vec<(ReplyHead, CachedBlock)>,
}

impl ReplyHeads {
    pub(super) fn block(&mut self, head: ReplyHead) -> &mut CachedBlock {
        if head == ReplyHead::default() {
            return &mut self.plain;
        }
        let found = self.others.iter().position(|(sort, _)| *sort == head);
        let index = found.unwrap_or_else(|| {
            self.others.push((head, CachedBlock::default()));
            self.others.len() - 1
        });
        &mut self.others[index].1
    }
}
