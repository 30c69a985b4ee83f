//! `tonic-compression PORT`: the pages service on tonic, on one thread, with gzip for clients that accept it.

use std::net::Ipv4Addr;

use bytes::Bytes;
use tonic::codec::CompressionEncoding;
use tonic::{Request, Response, Status};

use self::pages::pages_server::{Pages, PagesServer};
use self::pages::{Page, PageRequest};

#[path = "../../../benches/compression/src/orders.rs"]
mod orders;
mod pages {
    tonic::include_proto!("pages");
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let port = std::env::args().nth(1).ok_or("tonic-compression PORT")?.parse()?;
    let service = PagesServer::new(Fixed { page: orders::page().into() });
    let service = service.send_compressed(CompressionEncoding::Gzip);
    let server = tonic::transport::Server::builder().add_service(service);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(server.serve((Ipv4Addr::LOCALHOST, port).into()))?;
    Ok(())
}

/// Answers with the same page every time.
struct Fixed {
    page: Bytes,
}

#[tonic::async_trait]
impl Pages for Fixed {
    async fn get(&self, _request: Request<PageRequest>) -> Result<Response<Page>, Status> {
        Ok(Response::new(Page { orders: self.page.clone() }))
    }
}
