//! gRPC for Rust, on an HTTP/2 engine of its own.
//!
//! One crate to name: what users need stands at this level. `peregrine-build` compiles `.proto` files in a
//! `build.rs`, without protoc; `include_proto!` brings the result in.
//!
//! # The four shapes
//! A generated trait has one `async fn` for each rpc, and a generated client one method:
//!
//! | rpc | the handler takes | and returns, in a `Result` | the client passes | and gets |
//! |---|---|---|---|---|
//! | unary | `Request<M>` | `Response<R>` | a message | `Response<R>` |
//! | server streaming | `Request<M>` | `Response<impl Stream<..>>` | a message | `Streaming<R>` |
//! | client streaming | `Request<Streaming<M>>` | `Response<R>` | a stream, as `iter(..)` | `Response<R>` |
//! | bidirectional | `Request<Streaming<M>>` | `Response<impl Stream<..>>` | a stream | `Streaming<R>` |
//!
//! Wherever a client takes a message or a stream it takes a [`Request`] of one too. For requests that depend on
//! replies, the last two have a twin without arguments, `.._sender()`, which gives a [`Sender`] to write into and a
//! future of what the client gets. With a deadline or metadata, pass a `Request` of the [`Receiver`] of a [`pipe`].
//! A call that streams replies has begun when its `await` ends: what the peer says at once, a refusal too, comes with
//! the first message. A [`Streaming`] is read with [`message`](Streaming::message), here by two handlers:
//!
//! ```
//! use peregrine::{Request, Response, Status, Stream, Streaming};
//!
//! struct Adder {
//!     start: u64,
//! }
//!
//! impl Adder {
//!     async fn sum(&self, mut numbers: Request<Streaming<u64>>) -> Result<Response<u64>, Status> {
//!         let mut total = self.start;
//!         while let Some(number) = numbers.message().await? {
//!             total = total.checked_add(number).ok_or_else(|| Status::out_of_range("the sum is too large"))?;
//!         }
//!         Ok(total.into())
//!     }
//!
//!     async fn running_sum(
//!         &self,
//!         numbers: Request<Streaming<u64>>,
//!     ) -> Result<Response<impl Stream<Item = Result<u64, Status>> + Send>, Status> {
//!         let mut numbers = numbers.into_inner();
//!         Ok(Response::new(peregrine::channel(move |replies| async move {
//!             let mut total = self.start; // a stream may borrow the service
//!             while let Some(number) = numbers.message().await? {
//!                 total += number;
//!                 replies.send(total).await?;
//!             }
//!             Ok(())
//!         })))
//!     }
//! }
//! ```
//!
//! # Deadlines, metadata, errors
//! ```
//! # use peregrine::{Code, InvalidMetadata, Request, Response, Status};
//! # use std::time::Duration;
//! # fn prepare() -> Result<Request<u64>, InvalidMetadata> {
//! let mut request = Request::new(7).timeout(Duration::from_secs(2));
//! request.metadata_mut().insert("x-user", "ada")?;
//! # Ok(request) }
//! # fn with_sender() {
//! let (requests, receiver) = peregrine::pipe(16); // 16 messages may wait
//! let request = Request::new(receiver).timeout(Duration::from_secs(60));
//! // client.chat(request).await?, and requests.send(message).await? as the talk goes on
//! # let _: (peregrine::Sender<u64>, Request<peregrine::Receiver<u64>>) = (requests, request);
//! # }
//! # fn judge(result: Result<Response<u64>, Status>) {
//! match result {
//!     Ok(reply) => println!("{} {:?} {:?}", *reply, reply.metadata(), reply.trailers()),
//!     Err(status) if status.code() == Code::NotFound => println!("there is none"),
//!     Err(status) => println!("{status}"),
//! }
//! # }
//! ```
//! A status can carry [details](error_details) that programs act on, such as which fields are wrong or when to retry:
//! `Status::invalid_argument("..").with_detail(BadRequest::field("name", "is empty"))`.
//!
//! A handler sees [`Request::deadline`] and [`Request::metadata`]. When the deadline passes or the caller leaves, the
//! handler's future is dropped where it waits; what it has spawned waits for [`Request::cancelled`]. Calls that it
//! makes while it answers get its deadline and its cancellation in one line, also from tasks that it spawns:
//!
//! ```
//! # use peregrine::{Request, Response, Status};
//! # struct Client; impl Client {
//! # async fn next(&self, request: Request<u64>) -> Result<Response<u64>, Status> { Ok(request.into_inner().into()) } }
//! async fn handle(client: &Client, incoming: Request<u64>) -> Result<Response<u64>, Status> {
//!     client.next(Request::new(*incoming + 1).within(&incoming)).await
//! }
//! ```
//!
//! # Interceptors, credentials, settings of methods
//! An [`Interceptor`] sees every call of a server or a channel before it begins: it may change its metadata, refuse it,
//! answer it, and leave hooks for its messages and its end. A closure is one.
//! ```
//! use peregrine::{BearerToken, CallOptions, Channel, InterceptedCall, MethodConfig, Server, Status};
//! use std::time::Duration;
//!
//! let server = Server::builder()
//!     .interceptor(|call: &mut InterceptedCall<'_>| {
//!         let path = call.method().path.to_owned();
//!         call.on_end(move |end| println!("{path}: {:?}", end.code()));
//!         match call.metadata().get("authorization") {
//!             Some("Bearer t0k3n") => Ok(()),
//!             _ => Err(Status::unauthenticated("who are you?")),
//!         }
//!     })
//!     .configure("files.v1.Files/Upload", MethodConfig::new().max_receive_message_size(64 << 20));
//!
//! let channel = Channel::builder("https://files.example")
//!     .credentials(BearerToken::new("t0k3n")) // over TLS only
//!     .configure("files.v1.Files", CallOptions::new().timeout(Duration::from_secs(5)));
//! ```
//!
//! # Compression
//! Compressed messages are read on both sides, whatever is set. One line has them sent where that makes them smaller:
//! from 1,024 bytes on, with the first encoding of ours that the peer reads.
//! ```
//! # #[cfg(feature = "gzip")]
//! # fn run() -> Result<(), peregrine::Error> {
//! use peregrine::{CallOptions, Channel, Compression, Encoding, MethodConfig, Response, Server};
//!
//! let server = Server::builder()
//!     .compression(Compression::adaptive())
//!     .configure("vault.v1.Vault", MethodConfig::new().compression(Compression::off()));
//!
//! let channel = Channel::builder("http://127.0.0.1:50051")
//!     .compression(Encoding::Gzip) // what the peer is known to read
//!     .configure("files.v1.Files", CallOptions::new().compression(Compression::off()))
//!     .build()?;
//!
//! let secret = Response::new("never beside what others can choose").uncompressed();
//! # drop((server, channel, secret)); Ok(()) }
//! ```
//!
//! # Watching
//! An [`Observe`] is told of connections, of limits that were hit, of what compression came to, and, if it wants them,
//! of messages with their sizes: [`Server::observe`], [`ChannelBuilder::observe`].
//!
//! # JSON
//! With the feature `json`, calls can carry canonical protobuf JSON (`application/grpc+json`), whatever the codec: it
//! goes by the descriptors that generated code embeds. A server takes it beside protobuf and answers in kind; a
//! channel speaks it, or leaves the choice to each call.
//!
//! ```
//! # #[cfg(feature = "json")]
//! # fn run() -> Result<(), peregrine::Error> {
//! use peregrine::{Channel, Format, Json, Request, Server};
//!
//! let server = Server::builder().json(Json::new()); // .add_service(..).serve(..)
//! let channel = Channel::builder("http://127.0.0.1:50051").json(Json::new()).build()?;
//! let in_protobuf = Request::new("this one").format(Format::Proto);
//! # drop((server, channel, in_protobuf)); Ok(()) }
//! ```
//!
//! # TLS
//! A target with `https://` is called over TLS and trusts whom the system trusts; say [`ChannelBuilder::tls`] to trust
//! somebody else, or to show a certificate. A server with [`Server::tls`] can ask callers for one and tell handlers and
//! interceptors who called. Certificates are changed without a restart: every clone of a [`ServerTls`] sees a reload.
//!
//! ```no_run
//! # #[cfg(feature = "tls")]
//! # async fn run() -> Result<(), peregrine::Error> {
//! use peregrine::{Channel, ClientTls, InterceptedCall, Server, ServerTls, Status};
//! use std::time::Duration;
//!
//! let tls = ServerTls::from_files("server.pem", "server.key")?.client_ca_file("clients-ca.pem")?;
//! tokio::spawn(tls.clone().reload_every(Duration::from_mins(10), |reloaded| println!("{reloaded:?}")));
//! let server = Server::builder().tls(tls).interceptor(|call: &mut InterceptedCall<'_>| {
//!     match call.peer_identity().and_then(|identity| identity.spiffe_id()) {
//!         Some("spiffe://shop.example/cart") => Ok(()),
//!         _ => Err(Status::permission_denied("only the cart may")),
//!     }
//! }); // .add_service(..).serve(..)
//!
//! let tls = ClientTls::with_ca_file("servers-ca.pem")?.identity_files("cart.pem", "cart.key")?;
//! let channel = Channel::builder("https://stock.example:8443").tls(tls).connect().await?;
//! # drop((server, channel)); Ok(()) }
//! ```
//! What can go wrong (a name that does not match, an expired certificate, a plaintext port, no certificate shown) is
//! said by the [`Error`] of the attempt, with the next step.
//!
//! # Health, reflection, graceful shutdown
//! ```no_run
//! # #[cfg(all(feature = "health", feature = "reflection"))]
//! # async fn run() -> Result<(), peregrine::Error> {
//! use peregrine::{Server, health::Health, reflection::Reflection};
//!
//! let health = Health::new();
//! let server = Server::builder().add_service(health.service()); // and your own
//! let server = Reflection::of(&server)?.mount(server); // tells of what is mounted so far
//! let stop = async {
//!     let _ = tokio::signal::ctrl_c().await; // tokio's feature `signal`
//!     health.shut_down();
//! };
//! let report = server.serve_with_shutdown("127.0.0.1:50051", stop).await?;
//! println!("{report:?}");
//! # Ok(()) }
//! ```
//!
//! # Features
//! Features only add.
//! - `buffa` (default): messages by the buffa runtime, the generator's default.
//! - `health` (default): `grpc.health.v1`.
//! - `reflection` (default): `grpc.reflection` v1 and v1alpha.
//! - `tls` (default): TLS by rustls on both sides, `ServerTls` and `ClientTls`, with the cryptography of aws-lc-rs.
//! - `tls-ring`: the same with the cryptography of ring, for targets where aws-lc-rs is hard to build: switch the default
//!   features off. Where both features are on, aws-lc-rs is used; no process-wide default is read or set.
//! - `gzip` (default), `deflate`, `snappy`, `zstd`: message encodings. What is compiled in is decoded without being
//!   asked for. `zstd` builds C sources, the others are Rust.
//! - `orca`: load reports for those who balance calls over several servers, in trailers and by a service.
//! - `prost`: messages by the prost runtime.
//! - `json`: `Json`, the message format `application/grpc+json` for servers and channels, whatever the codec.

pub mod codec;
mod include;
#[doc(hidden)]
pub mod rt;

pub use peregrine_client::{Channel, ChannelBuilder, IntoTarget, Security, Target, TargetError};
#[cfg(feature = "_tls")]
pub use peregrine_client::{ClientTls, HandshakeError, HandshakeErrorKind, TlsVersion};
#[cfg(feature = "buffa")]
pub use peregrine_codec::View;
pub use peregrine_core::compression::{self, Compression};
pub use peregrine_core::format::{Format, MessageFormat, MethodFormat, Transcode};
pub use peregrine_core::intercept::{CallEnd, InterceptedCall, Interceptor, Message};
pub use peregrine_core::message::Encoding;
pub use peregrine_core::observe::{self, Observe};
pub use peregrine_core::status::details as error_details;
pub use peregrine_core::stream::{Receiver, pipe};
pub use peregrine_core::{
    Audience, BearerToken, BytesCodec, CallContext, CallCredentials, CallOptions, Cancellation, Cancelled,
    Code, Codec, DecodeLimits, Error, Extensions, IntoRequest, IntoStreamingRequest, InvalidMetadata,
    MetadataMap, MetadataValue, MethodDescriptor, NamedCodec, PeerAddr, PeerIdentity, Phase, Request,
    Response, Sender, ServiceDescriptor, Status, Stream, Streaming, channel, iter, unfold,
};
#[cfg(feature = "json")]
pub use peregrine_json::Json;
#[cfg(feature = "_tls")]
pub use peregrine_server::ServerTls;
pub use peregrine_server::{
    AdaptiveWindows, Execution, IntoListener, Keepalive, Limits, MethodConfig, PerCore, PingPolicy, Rate,
    Server, ShutdownReport, WindowBudget,
};
#[cfg(feature = "health")]
pub use peregrine_services::health;
#[cfg(feature = "orca")]
pub use peregrine_services::orca;
#[cfg(feature = "reflection")]
pub use peregrine_services::reflection;
