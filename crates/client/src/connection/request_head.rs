//! The header list of a request, and the encoded blocks of the methods that a connection calls.

use std::time::Duration;

use peregrine_core::Format;
use peregrine_core::deadline::{TimeoutText, encode_timeout};
use peregrine_core::message::Encoding;
use peregrine_core::metadata::MetadataMap;
use peregrine_http2::{CachedBlock, Connection, Field, OpenError, StreamKey};

/// What the HEADERS of all requests of a channel have in common.
#[derive(Clone, Debug)]
pub(crate) struct ChannelHead {
    /// `http`, or `https` over TLS (wire-rules 3).
    pub(crate) scheme: &'static str,
    pub(crate) authority: String,
    pub(crate) user_agent: String,
    /// The encodings that responses may have (wire-rules 36); empty to say nothing.
    pub(crate) accept_encoding: String,
}

/// What goes into the HEADERS of a request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RequestHead<'a> {
    pub(crate) channel: &'a ChannelHead,
    pub(crate) path: &'a str,
    pub(crate) timeout: Option<Timeout>,
    /// Named by the content type.
    pub(crate) format: Format,
    /// How the request's messages may be compressed.
    pub(crate) encoding: Encoding,
    pub(crate) metadata: &'a MetadataMap,
}

/// The `grpc-timeout` of a request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Timeout {
    pub(crate) left: Duration,
    /// Whether other calls are likely to send the same: the caller's own timeout is, what is left of one
    /// that came from elsewhere is not.
    pub(crate) recurs: bool,
}

impl RequestHead<'_> {
    /// Where this head is kept encoded, unless it is this call's alone.
    #[inline]
    pub(super) fn recurring_block<'b>(&self, blocks: &'b mut HeadBlocks) -> Option<&'b mut CachedBlock> {
        let recurs = self.timeout.is_none_or(|timeout| timeout.recurs);
        if recurs { blocks.block(self) } else { None }
    }

    /// Opens a stream with this head. The block comes from `blocks` unless it is this call's alone.
    ///
    /// # Errors
    /// The engine's: nothing was sent.
    pub(super) fn open(
        &self,
        engine: &mut Connection,
        blocks: &mut HeadBlocks,
    ) -> Result<StreamKey, OpenError> {
        let timeout = self.timeout.map(|timeout| encode_timeout(timeout.left));
        let mut scratch = blocks.take_scratch();
        let metadata = self.metadata.wire_fields(&mut scratch).map(|field| Field {
            name: field.name,
            value: field.value,
            sensitive: field.sensitive,
        });
        let fields = self.fixed_fields(timeout.as_ref()).chain(metadata);
        let opened = match self.recurring_block(blocks) {
            Some(block) => engine.open_cached(block, || fields, false),
            None => engine.open(fields, false),
        };
        blocks.scratch = scratch;
        opened
    }

    /// Pseudo-header fields, the timeout right behind them, then the rest (wire-rules 1, 8, 9, 13, 17).
    fn fixed_fields<'f>(
        &'f self,
        timeout: Option<&'f TimeoutText>,
    ) -> impl Iterator<Item = Field<'f>> + Clone {
        let ChannelHead { scheme, authority, user_agent, accept_encoding } = self.channel;
        let pseudo = [
            Field::new(b":method", b"POST"),
            Field::new(b":scheme", scheme.as_bytes()),
            Field::new(b":path", self.path.as_bytes()),
            // [9113-8.3.1-2]
            Field::new(b":authority", authority.as_bytes()),
        ];
        let timeout = timeout.map(|text| Field::new(b"grpc-timeout", text.as_bytes()));
        let rest = [
            Field::new(b"te", b"trailers"),
            Field::new(b"content-type", self.format.content_type().as_bytes()),
            Field::new(b"user-agent", user_agent.as_bytes()),
        ];
        let accept = (!accept_encoding.is_empty())
            .then(|| Field::new(b"grpc-accept-encoding", accept_encoding.as_bytes()));
        let encoding = (self.encoding != Encoding::Identity)
            .then(|| Field::new(b"grpc-encoding", self.encoding.name().as_bytes()));
        pseudo.into_iter().chain(timeout).chain(rest).chain(encoding).chain(accept)
    }
}

/// Encoded heads by what distinguishes them on one connection.
#[derive(Debug, Default)]
pub(super) struct HeadBlocks {
    entries: Vec<Entry>,
    /// Where the last call found its block: most clients call a few methods over and over.
    last: usize,
    /// Takes what metadata needs encoded, call after call (wire-rules H1).
    scratch: Vec<u8>,
    /// Metadata of late calls that no entry has.
    seen_once: [MetadataMap; SEEN],
    /// Where the next one goes.
    next_seen: usize,
}

/// Places of [`HeadBlocks::seen_once`].
const SEEN: usize = 4;

/// Longest metadata in a block that is kept, as a part of a header list: its fields have to fit into the compression
/// table beside those of all calls, or the block would be another one each time.
const LONGEST: usize = 3 * 1024;

#[derive(Debug)]
struct Entry {
    path: Box<str>,
    timeout: Option<Duration>,
    format: Format,
    encoding: Encoding,
    metadata: MetadataMap,
    block: CachedBlock,
}

impl Entry {
    fn of(head: &RequestHead<'_>) -> Self {
        Self {
            path: head.path.into(),
            timeout: head.timeout.map(|timeout| timeout.left),
            format: head.format,
            encoding: head.encoding,
            metadata: head.metadata.clone(),
            block: CachedBlock::default(),
        }
    }

    #[inline]
    fn is_for(&self, head: &RequestHead<'_>) -> bool {
        self.timeout == head.timeout.map(|timeout| timeout.left)
            && self.format == head.format
            && self.encoding == head.encoding
            && self.metadata == *head.metadata
            && *self.path == *head.path
    }
}

/// Blocks kept. A client with more methods than this replaces them in turn.
const KEPT: usize = 32;

impl HeadBlocks {
    /// The buffer for what needs encoding, unless an unusually large block has left it unusually large.
    fn take_scratch(&mut self) -> Vec<u8> {
        const KEPT: usize = 16 * 1024;

        let scratch = std::mem::take(&mut self.scratch);
        if scratch.capacity() > KEPT { Vec::new() } else { scratch }
    }

    /// The block of this head, or the place for it; `None` if it is not likely to come again.
    #[inline]
    fn block(&mut self, head: &RequestHead<'_>) -> Option<&mut CachedBlock> {
        if !self.entries.get(self.last).is_some_and(|entry| entry.is_for(head)) {
            self.last = self.find_or_insert(head)?;
        }
        Some(&mut self.entries[self.last].block)
    }

    #[inline(never)]
    fn find_or_insert(&mut self, head: &RequestHead<'_>) -> Option<usize> {
        if let Some(index) = self.entries.iter().position(|entry| entry.is_for(head)) {
            return Some(index);
        }
        if !head.metadata.is_empty() && !self.comes_again(head.metadata) {
            return None;
        }
        let entry = Entry::of(head);
        if self.entries.len() < KEPT {
            self.entries.push(entry);
            return Some(self.entries.len() - 1);
        }
        let index = (self.last + 1) % KEPT;
        self.entries[index] = entry;
        Some(index)
    }

    /// Whether metadata is worth an entry: it has come a short while ago. Ids of requests do not come again, and must
    /// not push out what does.
    fn comes_again(&mut self, metadata: &MetadataMap) -> bool {
        if self.seen_once.contains(metadata) {
            return metadata.header_list_size() <= LONGEST;
        }
        self.seen_once[self.next_seen] = metadata.clone();
        self.next_seen = (self.next_seen + 1) % SEEN;
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn channel() -> ChannelHead {
        ChannelHead {
            scheme: "https",
            authority: "host:1".to_owned(),
            user_agent: "grpc-rust-peregrine/0".to_owned(),
            accept_encoding: "gzip,identity".to_owned(),
        }
    }

    #[test]
    fn the_timeout_follows_the_pseudo_fields() {
        // [9113-8.3.1-2]
        // wire-rules 8, 9, 13, 17, 36
        let metadata = MetadataMap::new();
        let timeout = Timeout { left: Duration::from_secs(5), recurs: true };
        let channel = channel();
        let head = RequestHead {
            channel: &channel,
            path: "/s.S/M",
            timeout: Some(timeout),
            format: Format::Proto,
            encoding: Encoding::Gzip,
            metadata: &metadata,
        };
        let text = encode_timeout(timeout.left);
        let names: Vec<_> = head.fixed_fields(Some(&text)).map(|field| field.name.to_vec()).collect();
        let expected = [
            ":method",
            ":scheme",
            ":path",
            ":authority",
            "grpc-timeout",
            "te",
            "content-type",
            "user-agent",
            "grpc-encoding",
            "grpc-accept-encoding",
        ];
        assert_eq!(names, expected.map(|name| name.as_bytes().to_vec()));
    }

    #[test]
    fn blocks_are_found_again_and_bounded() {
        let (channel, metadata) = (channel(), MetadataMap::new());
        let plain = RequestHead {
            channel: &channel,
            path: "/s/0",
            timeout: None,
            format: Format::Proto,
            encoding: Encoding::Identity,
            metadata: &metadata,
        };
        let mut blocks = HeadBlocks::default();
        for round in 0..2 {
            for method in 0..3 * KEPT {
                let path = format!("/s/{method}");
                let head = RequestHead { path: &path, ..plain };
                assert!(blocks.block(&head).is_some());
                assert!(blocks.entries[blocks.last].is_for(&head), "{round}");
            }
        }
        assert_eq!(blocks.entries.len(), KEPT);
        let second = Timeout { left: Duration::from_secs(1), recurs: true };
        let others = [
            RequestHead { timeout: Some(second), ..plain },
            RequestHead { encoding: Encoding::Gzip, ..plain },
            RequestHead { format: Format::Json, ..plain },
            RequestHead { path: "/s/1", ..plain },
        ];
        for other in others {
            assert!(blocks.block(&other).is_some());
            let kept = &blocks.entries[blocks.last];
            assert!(kept.is_for(&other) && !kept.is_for(&plain), "{other:?}");
        }
    }

    // wire-rules H1: metadata that many calls have in common is encoded once, ids of requests push nothing out.
    #[test]
    fn metadata_has_a_block_once_it_has_come_twice() {
        let (channel, none) = (channel(), MetadataMap::new());
        let plain = RequestHead {
            channel: &channel,
            path: "/s/0",
            timeout: None,
            format: Format::Proto,
            encoding: Encoding::Identity,
            metadata: &none,
        };
        let with = |value: &str| {
            let mut metadata = MetadataMap::new();
            metadata.append("k", value).unwrap();
            metadata
        };
        let mut blocks = HeadBlocks::default();
        assert!(blocks.block(&plain).is_some());
        for id in 0..100 {
            let metadata = with(&id.to_string());
            assert!(blocks.block(&RequestHead { metadata: &metadata, ..plain }).is_none(), "{id}");
        }
        let metadata = with("99");
        for _ in 0..2 {
            let head = RequestHead { metadata: &metadata, ..plain };
            assert!(blocks.block(&head).is_some());
            assert!(blocks.entries[blocks.last].is_for(&head));
        }
        assert!(blocks.block(&plain).is_some() && blocks.entries[blocks.last].is_for(&plain));
        assert_eq!(blocks.entries.len(), 2);
        let long = with(&"x".repeat(LONGEST));
        for _ in 0..3 {
            assert!(
                blocks.block(&RequestHead { metadata: &long, ..plain }).is_none(),
                "too long for the table"
            );
        }
    }
}
