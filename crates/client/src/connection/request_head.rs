//! The header list of a request, and the encoded blocks of the methods that a connection calls.

use peregrine_core::Format;
use peregrine_core::deadline::TimeoutText;
use peregrine_core::message::Encoding;
use peregrine_core::metadata::MetadataMap;
use peregrine_http2::{CachedBlock, Connection, Field, OpenError, StreamKey};

/// What goes into the HEADERS of a request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RequestHead<'a> {
    /// `http`, or `https` over TLS (wire-rules 3).
    pub(crate) scheme: &'static str,
    pub(crate) path: &'a str,
    pub(crate) authority: &'a str,
    pub(crate) user_agent: &'a str,
    /// The encodings that responses may have (wire-rules 36); empty to say nothing.
    pub(crate) accept_encoding: &'a str,
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
    pub(crate) text: TimeoutText,
    /// Whether other calls are likely to send the same text: the caller's own timeout is, what is left of one
    /// that came from elsewhere is not.
    pub(crate) recurs: bool,
}

impl RequestHead<'_> {
    /// Where this head is kept encoded, unless it is this call's alone.
    #[inline]
    pub(super) fn recurring_block<'b>(&self, blocks: &'b mut HeadBlocks) -> Option<&'b mut CachedBlock> {
        let recurs = self.metadata.is_empty() && self.timeout.is_none_or(|timeout| timeout.recurs);
        recurs.then(|| {
            blocks.block(&Key {
                path: self.path,
                timeout: self.timeout.map(|timeout| timeout.text),
                format: self.format,
                encoding: self.encoding,
            })
        })
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
        if let Some(block) = self.recurring_block(blocks) {
            return engine.open_cached(block, || self.fixed_fields(), false);
        }
        let metadata = self.metadata.wire_fields(blocks.scratch()).map(|field| Field {
            name: field.name,
            value: field.value,
            sensitive: field.sensitive,
        });
        engine.open(self.fixed_fields().chain(metadata), false)
    }

    /// Pseudo-header fields, the timeout right behind them, then the rest (wire-rules 1, 8, 9, 13, 17).
    fn fixed_fields(&self) -> impl Iterator<Item = Field<'_>> + Clone {
        let pseudo = [
            Field::new(b":method", b"POST"),
            Field::new(b":scheme", self.scheme.as_bytes()),
            Field::new(b":path", self.path.as_bytes()),
            // [9113-8.3.1-2]
            Field::new(b":authority", self.authority.as_bytes()),
        ];
        let timeout =
            self.timeout.as_ref().map(|timeout| Field::new(b"grpc-timeout", timeout.text.as_bytes()));
        let rest = [
            Field::new(b"te", b"trailers"),
            Field::new(b"content-type", self.format.content_type().as_bytes()),
            Field::new(b"user-agent", self.user_agent.as_bytes()),
        ];
        let accept = (!self.accept_encoding.is_empty())
            .then(|| Field::new(b"grpc-accept-encoding", self.accept_encoding.as_bytes()));
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
}

/// What distinguishes heads.
#[derive(Clone, Copy, Debug)]
struct Key<'a> {
    path: &'a str,
    timeout: Option<TimeoutText>,
    format: Format,
    encoding: Encoding,
}

#[derive(Debug)]
struct Entry {
    path: Box<str>,
    timeout: Option<TimeoutText>,
    format: Format,
    encoding: Encoding,
    block: CachedBlock,
}

impl Entry {
    fn is_for(&self, key: &Key<'_>) -> bool {
        *self.path == *key.path
            && self.timeout == key.timeout
            && self.format == key.format
            && self.encoding == key.encoding
    }
}

/// Blocks kept. A client with more methods than this replaces them in turn.
const KEPT: usize = 32;

impl HeadBlocks {
    /// The buffer for what needs encoding, unless an unusually large block has left it unusually large.
    fn scratch(&mut self) -> &mut Vec<u8> {
        const KEPT: usize = 16 * 1024;

        if self.scratch.capacity() > KEPT {
            self.scratch = Vec::new();
        }
        &mut self.scratch
    }

    fn block(&mut self, key: &Key<'_>) -> &mut CachedBlock {
        if !self.entries.get(self.last).is_some_and(|entry| entry.is_for(key)) {
            self.last = self.find_or_insert(key);
        }
        &mut self.entries[self.last].block
    }

    fn find_or_insert(&mut self, key: &Key<'_>) -> usize {
        if let Some(index) = self.entries.iter().position(|entry| entry.is_for(key)) {
            return index;
        }
        let Key { path, timeout, format, encoding } = *key;
        let entry = Entry { path: path.into(), timeout, format, encoding, block: CachedBlock::default() };
        if self.entries.len() < KEPT {
            self.entries.push(entry);
            return self.entries.len() - 1;
        }
        let index = (self.last + 1) % KEPT;
        self.entries[index] = entry;
        index
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use peregrine_core::deadline::encode_timeout;

    use super::*;

    #[test]
    fn the_timeout_follows_the_pseudo_fields() {
        // [9113-8.3.1-2]
        // wire-rules 8, 9, 13, 17, 36
        let metadata = MetadataMap::new();
        let timeout = Timeout { text: encode_timeout(Duration::from_secs(5)), recurs: true };
        let head = RequestHead {
            scheme: "https",
            path: "/s.S/M",
            authority: "host:1",
            user_agent: "grpc-rust-peregrine/0",
            accept_encoding: "gzip,identity",
            timeout: Some(timeout),
            format: Format::Proto,
            encoding: Encoding::Gzip,
            metadata: &metadata,
        };
        let names: Vec<_> = head.fixed_fields().map(|field| field.name.to_vec()).collect();
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
        fn key(path: &str, timeout: Option<TimeoutText>, encoding: Encoding) -> Key<'_> {
            Key { path, timeout, format: Format::Proto, encoding }
        }

        let mut blocks = HeadBlocks::default();
        for round in 0..2 {
            for method in 0..3 * KEPT {
                let path = format!("/s/{method}");
                let key = key(&path, None, Encoding::Identity);
                blocks.block(&key);
                assert!(blocks.entries[blocks.last].is_for(&key), "{round}");
            }
        }
        assert_eq!(blocks.entries.len(), KEPT);
        let plain = key("/s/0", None, Encoding::Identity);
        let second = encode_timeout(Duration::from_secs(1));
        let others = [key("/s/0", Some(second), Encoding::Identity), key("/s/0", None, Encoding::Gzip)];
        for other in others {
            blocks.block(&other);
            assert!(!blocks.entries[blocks.last].is_for(&plain));
        }
        blocks.block(&Key { format: Format::Json, ..plain });
        assert!(!blocks.entries[blocks.last].is_for(&plain));
    }
}
