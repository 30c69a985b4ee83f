//! Cuts what a server sent into frames, whatever pieces it comes in. DATA is handed on piece by piece, other frames whole.

use super::frames::{DATA, HEAD};

/// What was found in the input.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Piece<'i> {
    /// Bytes of a DATA frame, perhaps none; `is_last` of this frame.
    Data { head: Head, bytes: &'i [u8], is_last: bool },
    /// Another frame. Its payload is in [`Parser::payload`].
    Frame(Head),
}

/// A frame's head, without its length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Head {
    pub(crate) kind: u8,
    pub(crate) flags: u8,
    pub(crate) stream: u32,
}

/// What of a frame was seen in earlier input.
#[derive(Debug, Default)]
pub(crate) struct Parser {
    /// A head that is not whole yet.
    partial: Vec<u8>,
    /// The frame that is being read, and how much of its payload is still to come.
    current: Option<(Head, usize)>,
    payload: Vec<u8>,
}

impl Parser {
    /// The next piece, which is taken off `input`; `None` if there is none before more input.
    pub(crate) fn next<'i>(&mut self, input: &mut &'i [u8]) -> Option<Piece<'i>> {
        let (head, left) = match self.current {
            Some(current) => current,
            None => self.next_head(input)?,
        };
        let taken = left.min(input.len());
        let (bytes, rest) = input.split_at(taken);
        *input = rest;
        let is_last = taken == left;
        self.current = (!is_last).then_some((head, left - taken));
        if head.kind == DATA {
            // An empty frame is a piece, no bytes of a longer one are none.
            return (is_last || taken > 0).then_some(Piece::Data { head, bytes, is_last });
        }
        self.payload.extend_from_slice(bytes);
        is_last.then_some(Piece::Frame(head))
    }

    /// Of the frame that was found last.
    pub(crate) fn payload(&self) -> &[u8] {
        &self.payload
    }

    fn next_head(&mut self, input: &mut &[u8]) -> Option<(Head, usize)> {
        self.payload.clear();
        let whole: [u8; HEAD];
        if self.partial.is_empty() && input.len() >= HEAD {
            whole = input[..HEAD].try_into().ok()?;
            *input = &input[HEAD..];
        } else {
            let (part, rest) = input.split_at(input.len().min(HEAD - self.partial.len()));
            self.partial.extend(part);
            *input = rest;
            whole = self.partial[..].try_into().ok()?;
            self.partial.clear();
        }
        let [l0, l1, l2, kind, flags, s0, s1, s2, s3] = whole;
        let stream = u32::from_be_bytes([s0 & 0x7f, s1, s2, s3]);
        Some((Head { kind, flags, stream }, u32::from_be_bytes([0, l0, l1, l2]) as usize))
    }
}

#[cfg(test)]
mod tests {
    use super::super::frames::{END_STREAM, PING, frame};
    use super::*;

    /// The kinds and payloads in `bytes`, given in pieces of `size`.
    fn read(bytes: &[u8], size: usize) -> Vec<(u8, Vec<u8>)> {
        let (mut parser, mut found, mut data) = (Parser::default(), Vec::new(), Vec::new());
        for mut input in bytes.chunks(size) {
            while let Some(piece) = parser.next(&mut input) {
                match piece {
                    Piece::Data { bytes, is_last, .. } => {
                        data.extend(bytes);
                        if is_last {
                            found.push((DATA, std::mem::take(&mut data)));
                        }
                    }
                    Piece::Frame(head) => found.push((head.kind, parser.payload().to_vec())),
                }
            }
            assert!(input.is_empty());
        }
        found
    }

    #[test]
    fn frames_are_found_in_input_of_any_pieces() {
        let mut bytes = Vec::new();
        frame(DATA, 0, 1, b"hello", &mut bytes);
        frame(PING, 0, 0, b"12345678", &mut bytes);
        frame(DATA, END_STREAM, 1, b"", &mut bytes);
        let expected = [(DATA, b"hello".to_vec()), (PING, b"12345678".to_vec()), (DATA, Vec::new())];
        for size in 1..bytes.len() {
            assert_eq!(read(&bytes, size), expected, "in pieces of {size}");
        }
    }
}
