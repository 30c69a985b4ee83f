//! The frames that are sent.

/// Types of frames (RFC 9113 6).
pub(crate) const DATA: u8 = 0;
pub(crate) const HEADERS: u8 = 1;
pub(crate) const RST_STREAM: u8 = 3;
pub(crate) const SETTINGS: u8 = 4;
pub(crate) const PING: u8 = 6;
pub(crate) const GOAWAY: u8 = 7;
pub(crate) const WINDOW_UPDATE: u8 = 8;

/// Also ACK, where a frame has that.
pub(crate) const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;
/// Also of HEADERS. No server under measurement pads.
pub(crate) const PADDED: u8 = 8;

pub(crate) const HEAD: usize = 9;
/// The largest window there is (RFC 9113 6.9.1).
pub(crate) const WINDOW: u32 = (1 << 31) - 1;
/// What a connection or a stream starts with (RFC 9113 6.9.2).
pub(crate) const FIRST_WINDOW: u32 = 65_535;

/// The preface, and settings that no server has to wait for: the largest windows, no push.
pub(crate) fn open(out: &mut Vec<u8>) {
    out.extend(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
    let mut settings = vec![0, 2, 0, 0, 0, 0, 0, 4];
    settings.extend(WINDOW.to_be_bytes());
    frame(SETTINGS, 0, 0, &settings, out);
    window_update(WINDOW - FIRST_WINDOW, out);
}

pub(crate) fn window_update(by: u32, out: &mut Vec<u8>) {
    frame(WINDOW_UPDATE, 0, 0, &by.to_be_bytes(), out);
}

/// A connection's first request head: every field goes into the peer's dynamic table.
pub(crate) fn first_head(stream: u32, path: &str, out: &mut Vec<u8>) {
    // :method POST, :scheme http.
    let mut block = vec![0x83, 0x86];
    let fields: [(&[u8], &str); 5] = [
        (&[0x44], path),
        (&[0x41], "localhost"),
        (&[0x5f], "application/grpc"),
        (b"\x40\x02te", "trailers"),
        (&[0x7a], "bench-load"),
    ];
    for (name, value) in fields {
        block.extend(name);
        block.push(value.len() as u8);
        block.extend(value.as_bytes());
    }
    frame(HEADERS, END_HEADERS, stream, &block, out);
}

/// The same head again: seven indexes.
pub(crate) fn next_head(stream: u32, out: &mut Vec<u8>) {
    frame(HEADERS, END_HEADERS, stream, &[0x83, 0x86, 0xc2, 0xc1, 0xc0, 0xbf, 0xbe], out);
}

pub(crate) fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8], out: &mut Vec<u8>) {
    let length = (payload.len() as u32).to_be_bytes();
    out.extend([length[1], length[2], length[3], kind, flags]);
    out.extend(stream.to_be_bytes());
    out.extend(payload);
}
