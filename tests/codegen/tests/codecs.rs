//! The two codecs on generated messages: sizes, links, shares and limits.

#![allow(clippy::unwrap_used, reason = "functions that the tests share are tests as well")]

use std::collections::VecDeque;

use bytes::Bytes;
use peregrine::{Codec, DecodeLimits};
use peregrine_core::message::{EncodeBuf, LINK_THRESHOLD};
use peregrine_core::{EncodeError, EncodeTarget, Payload};

/// Collects one message, and what it was announced as.
#[derive(Default)]
struct Target {
    bytes: Vec<u8>,
    links: VecDeque<(usize, Bytes)>,
    announced: Option<usize>,
}

impl EncodeTarget for Target {
    fn begin(&mut self, len: usize) -> Result<EncodeBuf<'_>, EncodeError> {
        assert_eq!(self.announced.replace(len), None, "room is asked for once");
        Ok(EncodeBuf::new(&mut self.bytes, &mut self.links))
    }
}

impl Target {
    fn encoded<C: Codec<T>, T>(message: &T) -> Self {
        let mut target = Self::default();
        C::encode(message, &mut target).unwrap();
        // wire-rules Z3
        assert_eq!(target.announced, Some(target.whole().len()));
        target
    }

    /// The byte stream, links spliced in.
    fn whole(&self) -> Bytes {
        let (mut out, mut from) = (Vec::new(), 0);
        for (at, link) in &self.links {
            out.extend_from_slice(&self.bytes[from..*at]);
            out.extend_from_slice(link);
            from = *at;
        }
        out.extend_from_slice(&self.bytes[from..]);
        out.into()
    }
}

fn lies_in(part: &Bytes, whole: &Bytes) -> bool {
    whole.as_ptr_range().contains(&part.as_ptr())
}

macro_rules! codec_tests {
    ($codec:ident, $marker:ty) => {
        mod $codec {
            use peregrine_tests_codegen::$codec::greeter::v1::{HelloReply, HelloRequest};
            use peregrine_tests_codegen::$codec::peregrine::rt::core::std::alloc::Everything;

            use super::*;

            fn decoded<T>(body: Payload<'_>) -> T
            where
                $marker: Codec<T>,
            {
                <$marker>::decode(body, &DecodeLimits::default()).unwrap()
            }

            fn reply(message: usize, data: usize) -> HelloReply {
                HelloReply { message: "m".repeat(message), data: vec![1; data].into(), ..Default::default() }
            }

            #[test]
            fn messages_survive_the_way() {
                let mut reply = reply(5, 3);
                let request =
                    HelloRequest { name: "Ada".into(), nickname: Some("A".into()), ..Default::default() };
                reply.by_name.insert("Ada".into(), request);
                for reply in [reply, HelloReply::default(), super::$codec::reply(1, 3 * LINK_THRESHOLD)] {
                    let bytes = Target::encoded::<$marker, _>(&reply).whole();
                    assert_eq!(decoded::<HelloReply>(Payload::Borrowed(&bytes)), reply);
                    assert_eq!(decoded::<HelloReply>(Payload::Shared(bytes)), reply);
                }
            }

            // wire-rules B5
            #[test]
            fn large_bytes_are_linked_and_small_ones_copied() {
                let large = reply(5, LINK_THRESHOLD);
                let target = Target::encoded::<$marker, _>(&large);
                assert_eq!(target.links.len(), 1);
                assert_eq!(target.links[0].1.as_ptr(), large.data.as_ptr());
                let small = Target::encoded::<$marker, _>(&reply(2 * LINK_THRESHOLD, LINK_THRESHOLD - 1));
                assert!(small.links.is_empty());
            }

            // wire-rules Z1
            #[test]
            fn large_fields_share_the_buffer_and_small_ones_do_not_pin_it() {
                let shared = |message, data| {
                    let bytes = Target::encoded::<$marker, _>(&reply(message, data)).whole();
                    let reply = decoded::<HelloReply>(Payload::Shared(bytes.clone()));
                    lies_in(&reply.data, &bytes)
                };
                assert!(shared(1, LINK_THRESHOLD));
                assert!(!shared(LINK_THRESHOLD, 100), "a small field of a large message");
                assert!(!shared(1, 100), "a small message");
            }

            // wire-rules 46
            #[test]
            fn broken_messages_are_refused() {
                let bytes = Target::encoded::<$marker, _>(&reply(5, 5)).whole();
                for cut in 1..bytes.len() {
                    let cut = Payload::Borrowed(&bytes[..cut]);
                    let result: Result<HelloReply, _> = <$marker>::decode(cut, &DecodeLimits::default());
                    // A cut between fields leaves a message, of fewer of them.
                    assert!(result.is_err() || result.is_ok_and(|reply| reply.data.is_empty()));
                }
                for broken in [&b"\x0a\x05abc"[..], b"\x0a\x01\xff", b"\x08", b"\xff\xff\xff\xff\xff\xff"] {
                    let body = Payload::Borrowed(broken);
                    let result: Result<HelloReply, _> = <$marker>::decode(body, &DecodeLimits::default());
                    assert!(result.is_err(), "{broken:?}");
                }
            }

            #[test]
            fn nesting_is_bounded() {
                let nested = |depth: usize| {
                    // Field 15 of `Everything` is an `Everything`.
                    (0..depth).fold(Vec::new(), |inner: Vec<u8>, _| {
                        let mut outer = vec![0x7a];
                        let mut len = inner.len();
                        while len >= 0x80 {
                            outer.push(len as u8 | 0x80);
                            len >>= 7;
                        }
                        outer.push(len as u8);
                        outer.extend_from_slice(&inner);
                        outer
                    })
                };
                let decode = |depth| -> Result<Everything, _> {
                    <$marker>::decode(Payload::Borrowed(&nested(depth)), &DecodeLimits::default())
                };
                assert!(decode(90).is_ok());
                assert!(decode(110).is_err());
                assert!(decode(5_000).is_err());
            }
        }
    };
}

codec_tests!(owned, peregrine::rt::BuffaCodec);
codec_tests!(prost, peregrine::rt::ProstCodec);

#[test]
fn unknown_fields_are_kept_by_buffa() {
    use peregrine::rt::BuffaCodec;
    use peregrine_tests_codegen::owned::greeter::v1::HelloReply;

    // Field 1, which it knows, and field 1000, which it does not.
    let bytes = b"\x0a\x02hi\xc0\x3e\x07";
    let reply: HelloReply = BuffaCodec::decode(Payload::Borrowed(bytes), &DecodeLimits::default()).unwrap();
    assert_eq!(Target::encoded::<BuffaCodec, _>(&reply).whole(), &bytes[..]);

    let mut limits = DecodeLimits::default();
    limits.unknown_fields = 0;
    let result: Result<HelloReply, _> = BuffaCodec::decode(Payload::Borrowed(bytes), &limits);
    assert!(result.is_err(), "as many as allowed");
}

#[test]
fn elements_that_grow_in_memory_are_bounded() {
    use peregrine::rt::BuffaCodec;
    use peregrine_tests_codegen::owned::peregrine::rt::core::std::alloc::Everything;

    // Field 3, a list of bytes: empty ones, of two bytes on the wire each.
    let bytes = [0x1a, 0x00].repeat(1000);
    let mut limits = DecodeLimits::default();
    let decode = |limits: &DecodeLimits| -> Result<Everything, _> {
        BuffaCodec::decode(Payload::Borrowed(&bytes), limits)
    };
    assert_eq!(decode(&limits).unwrap().chunks.len(), 1000);
    limits.element_memory = 1000;
    assert!(decode(&limits).is_err());
}
