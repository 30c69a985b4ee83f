//! What gzip saves and costs on 64 KiB of typical protobuf data, here and on tonic.
//!
//! `bench-compression serve PORT LEVEL` is our server; `bench-compression measure TONIC_SERVER` starts it and tonic's,
//! each on one processor, calls them in turn with one client on another, and prints bytes on the wire and processor
//! time of the server for each call. `cargo xtask compare compression` builds all of it and runs that.

mod measure;
mod orders;

use bytes::Bytes;
use peregrine::{Compression, Encoding, Request, Response, Server, Status};

use self::proto::pages::{Page, PageRequest, Pages, PagesServer};

mod proto {
    peregrine::include_proto!("pages");
}

fn main() -> anyhow::Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    match args[..] {
        ["serve", port, level] => runtime.block_on(serve(port.parse()?, level.parse()?)),
        ["measure", tonic] => runtime.block_on(measure::run(tonic.as_ref())),
        _ => anyhow::bail!("bench-compression serve PORT LEVEL, or bench-compression measure TONIC_SERVER"),
    }
}

async fn serve(port: u16, level: i8) -> anyhow::Result<()> {
    let server = Server::builder()
        .compression(Compression::only(Encoding::Gzip).level(level))
        .add_service(PagesServer::new(Fixed { page: orders::page().into() }));
    Ok(server.serve(format!("127.0.0.1:{port}")).await?)
}

/// Answers with the same page every time.
struct Fixed {
    page: Bytes,
}

impl Pages for Fixed {
    async fn get(&self, _request: Request<PageRequest>) -> Result<Response<Page>, Status> {
        Ok(Response::new(Page { orders: self.page.clone(), ..Page::default() }))
    }
}
