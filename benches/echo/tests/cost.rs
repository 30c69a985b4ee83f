//! What a call costs the server, in counts that are the same each time.
//!
//! In one process and on one thread: the server on one end of a socket pair, bytes made beforehand on the other, one
//! call after the other. What is counted is the server's, since the other end allocates nothing.

use std::collections::VecDeque;
use std::io;

use peregrine::compression::{Packer, Packing, Staged};
use peregrine::{Compression, Encoding, Execution, Server, unfold};
use peregrine_bench_echo::service;
use peregrine_http2::Field;
use peregrine_http2::hpack::Encoder;
use peregrine_testkit::CountingAllocator;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;

#[global_allocator]
static HEAP: CountingAllocator = CountingAllocator::new();

/// Calls before the count begins: tables, slots and buffers have their size by then.
const WARM: u32 = 200;
const COUNTED: u32 = 1_000;

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
const DATA: u8 = 0;
const HEADERS: u8 = 1;
const SETTINGS: u8 = 4;
const WINDOW_UPDATE: u8 = 8;
const ACK: u8 = 1;
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;

/// The other end: repeats one call, as a client with a warm compression table sends it.
struct Caller {
    socket: UnixStream,
    first_block: Vec<u8>,
    block: Vec<u8>,
    body: Vec<u8>,
    out: Vec<u8>,
    input: Vec<u8>,
    next_id: u32,
}

impl Caller {
    fn new(socket: UnixStream, path: &str, says: &[(&str, &str)], message: &[u8]) -> Self {
        let mut encoder = Encoder::new(1);
        let mut block = || {
            let mut out = Vec::new();
            let fields = [
                (":method", "POST"),
                (":scheme", "http"),
                (":path", path),
                (":authority", "localhost"),
                ("te", "trailers"),
                ("content-type", "application/grpc"),
                ("user-agent", "cost/1"),
            ];
            encoder.start_block(&mut out);
            for (name, value) in fields.iter().chain(says) {
                encoder.encode(Field::new(name.as_bytes(), value.as_bytes()), &mut out);
            }
            out
        };
        let (first_block, block) = (block(), block());
        let body = if says.contains(&("grpc-encoding", "gzip")) { packed(message) } else { plain(message) };
        let (out, input) = (Vec::with_capacity(64 << 10), vec![0; 64 << 10]);
        Self { socket, first_block, block, body, out, input, next_id: 1 }
    }

    async fn greet(&mut self) -> io::Result<()> {
        self.out.extend_from_slice(PREFACE);
        frame(&mut self.out, SETTINGS, 0, 0, &[]);
        frame(&mut self.out, SETTINGS, ACK, 0, &[]);
        // Window for everything that the run will ever bring.
        frame(&mut self.out, WINDOW_UPDATE, 0, 0, &(1_u32 << 30).to_be_bytes());
        self.send().await
    }

    /// One call, to the END_STREAM of its reply.
    async fn call(&mut self) -> io::Result<()> {
        let id = self.next_id;
        self.next_id += 2;
        let block = if id == 1 { &self.first_block } else { &self.block };
        frame(&mut self.out, HEADERS, END_HEADERS, id, block);
        frame(&mut self.out, DATA, END_STREAM, id, &self.body);
        self.send().await?;
        let mut filled = 0;
        loop {
            let read = self.socket.read(&mut self.input[filled..]).await?;
            if read == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            filled += read;
            let mut at = 0;
            while let Some((kind, flags, stream, len)) = parse(&self.input[at..filled]) {
                at += 9 + len;
                if stream == id && flags & END_STREAM != 0 && (kind == HEADERS || kind == DATA) {
                    return Ok(());
                }
            }
            self.input.copy_within(at..filled, 0);
            filled -= at;
        }
    }

    async fn send(&mut self) -> io::Result<()> {
        self.socket.write_all(&self.out).await?;
        self.out.clear();
        Ok(())
    }
}

/// A message behind its prefix.
fn plain(message: &[u8]) -> Vec<u8> {
    let mut body = vec![0];
    body.extend((message.len() as u32).to_be_bytes());
    body.extend(message);
    body
}

/// The same with gzip.
fn packed(message: &[u8]) -> Vec<u8> {
    let packer = Packer::new(&Compression::only(Encoding::Gzip).always(), Encoding::Gzip);
    let mut staged = Staged::new(message.len());
    staged.buffer().put_slice(message);
    let packing = Packing::of(Some(&packer), Some(true)).expect("it was forced");
    let (mut body, mut links) = (Vec::new(), VecDeque::new());
    staged.pack(packing).expect("as announced").write_to(&mut body, &mut links);
    assert_eq!((body[0], links.len()), (1, 0), "it got smaller");
    body
}

fn frame(out: &mut Vec<u8>, kind: u8, flags: u8, stream: u32, payload: &[u8]) {
    out.extend_from_slice(&(payload.len() as u32).to_be_bytes()[1..]);
    out.extend_from_slice(&[kind, flags]);
    out.extend_from_slice(&stream.to_be_bytes());
    out.extend_from_slice(payload);
}

/// Kind, flags, stream and length of a whole frame at the front of `input`.
fn parse(input: &[u8]) -> Option<(u8, u8, u32, usize)> {
    let head = input.get(..9)?;
    let len = usize::from(head[0]) << 16 | usize::from(head[1]) << 8 | usize::from(head[2]);
    let stream = u32::from_be_bytes([head[5], head[6], head[7], head[8]]);
    (input.len() >= 9 + len).then_some((head[3], head[4], stream, len))
}

/// Allocations a call, and bytes asked for a call, of `COUNTED` calls.
fn count(path: &str, message: &[u8], mount: fn(Server) -> Server) -> (f64, f64) {
    count_of(path, message, &[], mount)
}

/// The same for a client that says so of encodings in its head.
fn count_of(
    path: &str,
    message: &[u8],
    says: &[(&str, &str)],
    mount: impl Fn(Server) -> Server,
) -> (f64, f64) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let (ours, theirs) = UnixStream::pair().expect("a socket pair");
        let server = mount(Server::builder().execution(Execution::Inline));
        // One connection and then none for ever: the end of the connections would be the end of the server.
        let incoming = unfold(Some(theirs), |socket| async {
            match socket {
                Some(socket) => Some((Ok::<_, io::Error>(socket), None)),
                None => std::future::pending().await,
            }
        });
        let serving = tokio::spawn(server.serve_incoming(incoming));
        let mut caller = Caller::new(ours, path, says, message);
        caller.greet().await.expect("the server takes the preface");
        for _ in 0..WARM {
            caller.call().await.expect("the server answers");
        }
        let (calls, bytes) = (HEAP.allocations(), HEAP.allocated_bytes());
        for _ in 0..COUNTED {
            caller.call().await.expect("the server answers");
        }
        let counted = (HEAP.allocations() - calls, HEAP.allocated_bytes() - bytes);
        serving.abort();
        let per_call = |total: usize| total as f64 / f64::from(COUNTED);
        (per_call(counted.0), per_call(counted.1))
    })
}

/// `bench.EchoMsg` with a payload of `size` bytes.
fn echo(size: u8) -> Vec<u8> {
    let mut message = vec![0x0a];
    message.extend(if size < 0x80 { vec![size] } else { vec![size, 1] });
    message.extend(std::iter::repeat_n(0x5a, usize::from(size)));
    message.extend([0x10, 7]);
    message
}

/// One test, since the counter is the process's: tests beside it would count too. What makes errors is among what a
/// successful call does not allocate (wire-rules E4, Z4).
#[test]
fn a_unary_call_allocates_its_payload_and_nothing_else() {
    let (allocations, bytes) =
        count("/bench.Bench/Echo", &echo(64), |server| service::mount_buffa(server, false));
    assert!(allocations <= 1.01 && bytes <= 80.0, "{allocations} allocations and {bytes} bytes a call");
    let (allocations, bytes) =
        count("/bench.Bench/Echo", &echo(64), |server| service::mount_bytes(server, false));
    assert!(allocations <= 2.01, "raw bytes: {allocations} allocations and {bytes} bytes a call");
    // Sixteen messages of 64 bytes: the request's payload-free message, and nothing for what is streamed.
    let (allocations, bytes) =
        count("/bench.Bench/Stream", &[0x08, 16, 0x10, 64], |server| service::mount_buffa(server, false));
    assert!(allocations <= 1.01, "a stream: {allocations} allocations and {bytes} bytes a call");
    // wire-rules N6: who negotiates an encoding pays nothing for it, whatever the threshold; nor does a message that is
    // compressed, beyond its payload in the request.
    for (threshold, size) in [(1_024, 200), (2_048, 200), (100, 200)] {
        for accepts in ["identity", "gzip", "deflate,gzip", "identity,gzip", "zstd, gzip ,", "br"] {
            let says = [("grpc-accept-encoding", accepts)];
            let (allocations, bytes) = count_of("/bench.Bench/Echo", &echo(size), &says, |server| {
                let server = server.compression(Compression::only(Encoding::Gzip).threshold(threshold));
                service::mount_buffa(server, false)
            });
            assert!(
                allocations <= 1.01,
                "threshold {threshold}, client with {accepts}: {allocations} allocations, {bytes} bytes"
            );
        }
    }
    negotiated_in_both_directions();
    streams_of_many_frames();
}

/// wire-rules N6: each pair of encodings of request and response, for a threshold that is anybody's.
fn negotiated_in_both_directions() {
    for threshold in [1_024, 2_048, 0] {
        for names in ["identity", "gzip"] {
            for accepts in ["identity", "gzip", "identity,deflate,gzip"] {
                let says = [("grpc-encoding", names), ("grpc-accept-encoding", accepts)];
                let (allocations, bytes) = count_of("/bench.Bench/Echo", &echo(200), &says, |server| {
                    let server = server.compression(Compression::only(Encoding::Gzip).threshold(threshold));
                    service::mount_buffa(server, false)
                });
                // wire-rules Z4: what a message is inflated into, and its being shared, is the request's own.
                let most = if names == "gzip" { 3.01 } else { 1.01 };
                assert!(
                    allocations <= most,
                    "threshold {threshold}, {names}, client with {accepts}: {allocations} allocations, {bytes} bytes"
                );
            }
        }
    }
}

/// wire-rules B1, Z2, Z4: messages of a stream cost nothing of their own, also where frames end between them, whether
/// they join the ones before or not, or are compressed.
fn streams_of_many_frames() {
    // `count` and `size`, in varints of two bytes.
    let stream = |count: u16, size: u16| {
        let varint = |value: u16| [value as u8 | 0x80, (value >> 7) as u8];
        [&[0x08][..], &varint(count), &[0x10], &varint(size)].concat()
    };
    // All within the window of a stream, which the caller never opens.
    for (count, size) in [(1_000, 32), (60, 1_000), (20, 3_000)] {
        for accepts in ["identity", "gzip"] {
            let says = [("grpc-accept-encoding", accepts)];
            let (allocations, bytes) =
                count_of("/bench.Bench/Stream", &stream(count, size), &says, |server| {
                    let server = server.compression(Compression::only(Encoding::Gzip));
                    service::mount_buffa(server, false)
                });
            assert!(
                allocations <= 1.01,
                "{count} of {size}, client with {accepts}: {allocations} allocations, {bytes} bytes"
            );
        }
    }
}
