//! `pajamax-server PORT`: the unary method of the bench service on pajamax, which has no others. It has a thread a
//! connection, and its handlers run on it.

use bytes::Bytes;
use pajamax::PajamaxService;
use pajamax::error::Error;
use pajamax::status::{Code, Status};
use prost::Message;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let port: u16 = std::env::args().nth(1).ok_or("pajamax-server PORT")?.parse()?;
    pajamax::Config::new()
        .max_concurrent_connections(20_000)
        // Also the size of its read buffer, into which a frame of 16 KiB has to fit with its head.
        .max_frame_size(32 << 10)
        .add_service(Echo)
        .serve(("127.0.0.1", port))?;
    Ok(())
}

/// As prost writes it; pajamax's own generator does not know this version of pajamax.
#[derive(Clone, PartialEq, Message)]
struct EchoMsg {
    #[prost(bytes = "bytes", tag = "1")]
    payload: Bytes,
    #[prost(int64, tag = "2")]
    id: i64,
}

struct Echo;

impl PajamaxService for Echo {
    fn is_dispatch_mode(&self) -> bool {
        false
    }

    fn route(&self, path: &[u8]) -> Option<usize> {
        (path == b"/bench.Bench/Echo").then_some(0)
    }

    fn handle(&self, _method: usize, request: &[u8], stream: u32) -> Result<(), Error> {
        let reply = EchoMsg::decode(request)
            .map_err(|error| Status { code: Code::InvalidArgument, message: error.to_string() });
        pajamax::local_build_response(stream, reply)
    }
}
