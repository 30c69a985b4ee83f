//! The head of a reply: what it can say besides the user's metadata, and its encoded blocks.

use std::sync::Arc;

use peregrine_core::compression::{Compression, EncodingSet, Packer};
use peregrine_core::message::Encoding;
use peregrine_core::{Format, Status};
use peregrine_http2::{CachedBlock, Field, StreamKey};

use super::request_head::RequestHead;

/// What distinguishes the heads of replies on one connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ReplyHead {
    /// That of the request.
    pub(crate) format: Format,
    /// `grpc-encoding`, where messages may be compressed (wire-rules F2).
    pub(crate) encoding: Encoding,
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
        let encoding = (self.encoding != Encoding::Identity)
            .then(|| Field::new(b"grpc-encoding", self.encoding.name().as_bytes()));
        fixed.into_iter().chain(encoding).chain(accept)
    }
}

/// How the reply of one call goes. Worked out once per distinct request head, from packers that are made once per server
/// (wire-rules N6).
#[derive(Clone, Debug)]
pub(crate) struct ReplyPlan {
    pub(crate) head: ReplyHead,
    accepts: EncodingSet,
    packer: Option<Arc<Packer>>,
}

impl ReplyPlan {
    /// `accepts`: what the client says, if it does. `packers`: the method's, preferred ones first.
    pub(crate) fn new(format: Format, accepts: Option<EncodingSet>, packers: &[Arc<Packer>]) -> Self {
        let (names_accepted, accepts) = (accepts.is_some(), accepts.unwrap_or_default());
        // wire-rules 36, P1; what the request is compressed with does not matter (wire-rules 41)
        let packer = packers.iter().find(|packer| accepts.contains(packer.encoding())).cloned();
        let encoding = packer.as_ref().map_or(Encoding::Identity, |packer| packer.encoding());
        Self { head: ReplyHead { format, encoding, names_accepted }, accepts, packer }
    }

    /// The same, for a reply whose handler has settings of its own (wire-rules P2).
    ///
    /// # Errors
    /// They are settings that the server would not have started with (T4).
    fn compressed(&self, setting: &Compression) -> Result<Self, Status> {
        setting.check().map_err(|error| {
            Status::internal(format!("the handler's setting of compression cannot be used: {error}"))
                .with_source(error)
        })?;
        let is_possible = |encoding: &Encoding| encoding.is_supported() && self.accepts.contains(*encoding);
        let encoding = setting.encodings().find(is_possible).unwrap_or(Encoding::Identity);
        Ok(Self {
            head: ReplyHead { encoding, ..self.head },
            accepts: self.accepts,
            packer: (encoding != Encoding::Identity).then(|| Arc::new(Packer::new(setting, encoding))),
        })
    }

    #[inline]
    pub(crate) fn packer(&self) -> Option<&Packer> {
        self.packer.as_deref()
    }
}

/// The reply of one call, as far as it has got.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) key: StreamKey,
    pub(super) request: Arc<RequestHead>,
    /// In place of the request head's, where the handler has settings of its own.
    pub(super) own_plan: Option<Box<ReplyPlan>>,
    /// Whether the response head is out; decides between trailers and trailers-only.
    pub(crate) head_sent: bool,
    /// Whether the end is out as well.
    pub(crate) is_ended: bool,
}

impl Reply {
    #[inline]
    pub(crate) fn new(key: StreamKey, request: Arc<RequestHead>) -> Self {
        Self { key, request, own_plan: None, head_sent: false, is_ended: false }
    }

    /// What the call came with.
    #[inline]
    pub(crate) fn request(&self) -> &Arc<RequestHead> {
        &self.request
    }

    #[inline]
    pub(crate) fn plan(&self) -> &ReplyPlan {
        self.own_plan.as_deref().unwrap_or(&self.request.reply)
    }

    /// The handler has settings of its own for this reply (wire-rules P2).
    ///
    /// # Errors
    /// As [`ReplyPlan::compressed`].
    #[cold]
    pub(crate) fn compress(&mut self, setting: &Compression) -> Result<(), Status> {
        self.own_plan = Some(Box::new(self.plan().compressed(setting)?));
        Ok(())
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
    #[inline(always)]
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

#[cfg(test)]
mod tests {
    use peregrine_core::Code;
    use peregrine_core::compression::InvalidCompression;

    use super::*;

    // wire-rules P2, T4
    #[test]
    fn a_handlers_setting_that_cannot_be_meant_fails_the_call() {
        let plan = ReplyPlan::new(Format::Proto, Some(EncodingSet::supported()), &[]);
        assert!(plan.compressed(&Compression::adaptive()).is_ok());
        let status = plan.compressed(&Compression::adaptive().min_saving(100)).unwrap_err();
        assert_eq!(status.code(), Code::Internal);
        assert!(status.message().contains("the handler's setting of compression"), "{status}");
        for encoding in Encoding::COMPRESSED.into_iter().filter(|encoding| !encoding.is_supported()) {
            let status = plan.compressed(&encoding.into()).unwrap_err();
            assert!(status.message().contains(&format!("cargo feature `{encoding}`")), "{status}");
        }
        let source = std::error::Error::source(&status);
        assert!(source.is_some_and(<dyn std::error::Error>::is::<InvalidCompression>));
    }
}
