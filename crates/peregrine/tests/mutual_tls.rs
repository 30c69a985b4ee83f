//! Clients that show certificates, servers that ask for them, and certificates that are replaced while both run.
#![cfg(feature = "_tls")]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends by a panic, its helpers too")]

use std::fs;
use std::future::ready;
use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use peregrine::observe::{ConnectionEvent, ConnectionInfo};
use peregrine::rt::unary;
use peregrine::{
    BytesCodec, Channel, ChannelBuilder, ClientTls, Code, Error, InterceptedCall, MethodDescriptor, Observe,
    Phase, Request, Server, ServerTls, Status, TlsVersion,
};
use peregrine_testkit::certificates::Certificate;
use peregrine_testkit::service::UNARY;
use peregrine_testkit::{Authority, PipeEnd, Recorder, Served, TestService, serve, settle, virtual_time};
use tokio::time::Instant;

const NAME: &str = "server.test";

/// An authority for servers and another one for clients.
struct Stage {
    servers: Authority,
    clients: Authority,
    recorder: Recorder,
}

impl Stage {
    fn new() -> Self {
        Self { servers: Authority::new(), clients: Authority::new(), recorder: Recorder::default() }
    }

    /// A server that asks for certificates.
    fn server_tls(&self) -> ServerTls {
        let Certificate { chain, key } = self.servers.issue(&[NAME]);
        ServerTls::from_pem(chain, key).unwrap().client_ca_pem(&self.clients.pem).unwrap()
    }

    fn serve(&self, tls: ServerTls) -> Served {
        let server = Server::builder().add_service(TestService::new(Arc::default())).tls(tls);
        serve(server.observe(self.recorder.clone()))
    }

    /// A client without a certificate.
    fn anonymous(&self) -> ClientTls {
        ClientTls::with_ca_pem(&self.servers.pem).unwrap()
    }

    fn client(&self, certificate: &Certificate) -> ClientTls {
        self.anonymous().identity_pem(&certificate.chain, &certificate.key).unwrap()
    }
}

fn channel(end: PipeEnd, tls: ClientTls) -> ChannelBuilder {
    let end = Mutex::new(Some(end));
    Channel::builder(format!("https://{NAME}:1")).tls(tls).connector(move || {
        let end = end.lock().unwrap().take();
        ready(end.ok_or_else(|| io::Error::other("the pipe is used up")))
    })
}

async fn refused(served: &Served, tls: ClientTls) -> Error {
    channel(served.connect(), tls).connect().await.expect_err("the server refuses")
}

/// Whom the handler takes the client for.
async fn identity(served: &Served, tls: ClientTls) -> Result<String, Status> {
    let channel = channel(served.connect(), tls).build()?;
    let descriptor = MethodDescriptor {
        path: UNARY,
        service: "test.Test",
        name: "Unary",
        client_streaming: false,
        server_streaming: false,
        file_descriptor_set: &[],
    };
    let mut request = Request::new(Bytes::new());
    request.metadata_mut().insert("script", "identity").unwrap();
    let reply = unary::<BytesCodec, Bytes, Bytes>(&channel, &descriptor, request).await?;
    Ok(String::from_utf8(reply.to_vec()).unwrap())
}

#[test]
fn the_handler_learns_the_names_in_the_clients_certificate() {
    virtual_time(async {
        let stage = Stage::new();
        let names =
            ["cart.shop", "spiffe://cluster.local/ns/shop/sa/cart", "ops@shop.test", "10.1.2.3", "fd00::1"];
        let certificate = stage.clients.issue_client("the cart", &names);
        for version in [TlsVersion::V1_2, TlsVersion::V1_3] {
            let served = stage.serve(stage.server_tls().min_version(version));
            let shown = identity(&served, stage.client(&certificate)).await.unwrap();
            assert_eq!(
                shown,
                "the_cart cart.shop spiffe://cluster.local/ns/shop/sa/cart ops@shop.test 10.1.2.3 fd00::1"
            );
            assert!(served.stop().await.is_clean());
        }
    });
}

#[test]
fn a_client_without_certificate_is_told_that_it_needs_one() {
    virtual_time(async {
        let stage = Stage::new();
        let served = stage.serve(stage.server_tls());
        let begun = Instant::now();
        let error = refused(&served, stage.anonymous()).await;
        assert_eq!(error.phase(), Phase::Tls, "{error:?}");
        assert!(error.message().contains("asks for a client certificate"), "{error}");
        assert!(error.hint().unwrap().contains("ClientTls::identity_files"), "{error:?}");
        assert_eq!((error.attempt(), error.peer()), (1, Some("server.test:1")), "{error:?}");
        assert!(begun.elapsed() < Duration::from_secs(1));
        settle().await;
        let heard = stage.recorder.take().join("; ");
        assert!(
            heard.contains("TLS: the server asks for a client certificate, and none was shown"),
            "{heard}"
        );
        assert!(served.stop().await.is_clean());
    });
}

#[test]
fn a_client_certificate_that_does_not_fit_is_refused_by_name() {
    virtual_time(async {
        let stage = Stage::new();
        let served = stage.serve(stage.server_tls());
        let expired = stage.clients.issue_expired(&["cart.shop"]);
        let early = stage.clients.issue_early(&["cart.shop"]);
        let strange = Authority::named("another").issue_client("cart", &["cart.shop"]);
        let forged = Authority::new().issue_client("cart", &["cart.shop"]);
        for (certificate, alert, heard_by_server) in [
            (expired, "CertificateExpired", "the certificate is out of date"),
            (early, "CertificateExpired", "the certificate is not valid yet"),
            (strange, "UnknownCA", "not issued by an authority that is trusted here"),
            (forged, "DecryptError", "not issued by an authority that is trusted here"),
        ] {
            let error = refused(&served, stage.client(&certificate)).await;
            assert_eq!(error.phase(), Phase::Tls, "{error:?}");
            assert!(error.message().contains("did not accept the client's certificate"), "{error}");
            assert!(error.message().contains(alert), "{error}");
            assert!(error.hint().unwrap().contains("authority that the server trusts"), "{error:?}");
            settle().await;
            let heard = stage.recorder.take().join("; ");
            assert!(heard.contains(heard_by_server), "{heard}");
        }
        assert!(served.stop().await.is_clean());
    });
}

#[test]
fn anonymous_clients_are_served_only_if_that_is_said_and_bad_certificates_never() {
    virtual_time(async {
        let stage = Stage::new();
        let served = stage.serve(stage.server_tls().anonymous_clients());
        assert_eq!(identity(&served, stage.anonymous()).await.unwrap(), "none");
        let known = stage.clients.issue_client("cart", &[]);
        assert_eq!(identity(&served, stage.client(&known)).await.unwrap(), "cart");
        let strange = Authority::new().issue_client("cart", &[]);
        assert_eq!(refused(&served, stage.client(&strange)).await.phase(), Phase::Tls);
        assert!(served.stop().await.is_clean());

        // A server that does not ask is shown nothing.
        let Certificate { chain, key } = stage.servers.issue(&[NAME]);
        let served = stage.serve(ServerTls::from_pem(chain, key).unwrap());
        assert_eq!(identity(&served, stage.client(&known)).await.unwrap(), "none");
        assert!(served.stop().await.is_clean());
    });
}

#[test]
fn clients_of_several_authorities_are_served() {
    virtual_time(async {
        let stage = Stage::new();
        let other = Authority::new();
        let served = stage.serve(stage.server_tls().client_ca_pem(&other.pem).unwrap());
        for (authority, name) in [(&stage.clients, "one"), (&other, "two")] {
            let certificate = authority.issue_client(name, &[]);
            assert_eq!(identity(&served, stage.client(&certificate)).await.unwrap(), name);
        }
        assert!(served.stop().await.is_clean());
    });
}

#[test]
fn a_reload_serves_new_connections_with_new_certificates_and_leaves_open_ones_alone() {
    virtual_time(async {
        let stage = Stage::new();
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        let write = |authority: &Authority| {
            let Certificate { chain, key } = authority.issue(&[NAME]);
            fs::write(path("chain.pem"), chain).unwrap();
            fs::write(path("key.pem"), key).unwrap();
        };
        write(&stage.servers);
        fs::write(path("clients.pem"), &stage.clients.pem).unwrap();
        let tls = ServerTls::from_files(path("chain.pem"), path("key.pem")).unwrap();
        let tls = tls.client_ca_file(path("clients.pem")).unwrap();
        let served = stage.serve(tls.clone());
        let certificate = stage.clients.issue_client("cart", &[]);
        let client = stage.client(&certificate);
        let open = channel(served.connect(), client.clone()).connect().await.unwrap();
        assert!(!tls.reload().unwrap(), "nothing has changed");

        // Another authority for each side.
        let (servers, clients) = (Authority::new(), Authority::new());
        write(&servers);
        fs::write(path("clients.pem"), &clients.pem).unwrap();
        assert!(tls.reload().unwrap());
        let error = refused(&served, client.clone()).await;
        assert!(error.message().contains("not issued by an authority"), "{error}");
        let strange = ClientTls::with_ca_pem(&servers.pem).unwrap();
        let old = strange.clone().identity_pem(&certificate.chain, &certificate.key).unwrap();
        assert!(refused(&served, old).await.message().contains("did not accept the client's certificate"));
        let new = clients.issue_client("new", &[]);
        let new = strange.identity_pem(new.chain, new.key).unwrap();
        assert_eq!(identity(&served, new.clone()).await.unwrap(), "new");
        open.ready().await.unwrap();

        // Half of a change: the key of another certificate. What was in use stays in use.
        fs::write(path("key.pem"), stage.servers.issue(&[NAME]).key).unwrap();
        let error = tls.reload().unwrap_err();
        assert!(error.to_string().contains("key.pem"), "{error}");
        assert_eq!(identity(&served, new).await.unwrap(), "new");

        // Certificates from elsewhere.
        tls.replace(&stage.server_tls());
        assert_eq!(identity(&served, client).await.unwrap(), "cart");
        drop(open);
        assert!(served.stop().await.is_clean());
    });
}

// wire-rules 95: what a session was begun with does not outlive its authority. Both versions resume sessions.
#[test]
fn a_session_is_not_resumed_with_whom_is_trusted_no_longer() {
    virtual_time(async {
        let stage = Stage::new();
        let Certificate { chain, key } = stage.servers.issue(&[NAME]);
        let trusting = |clients: &Authority, version| {
            let tls = ServerTls::from_pem(&chain, &key).unwrap().client_ca_pem(&clients.pem).unwrap();
            tls.min_version(version)
        };
        let shown = stage.clients.issue_client("cart", &[]);
        for version in [TlsVersion::V1_2, TlsVersion::V1_3] {
            let tls = trusting(&stage.clients, version);
            let served = stage.serve(tls.clone());
            let client = stage.client(&shown);
            for _ in 0..3 {
                assert_eq!(identity(&served, client.clone()).await.unwrap(), "cart");
            }
            // The server trusts others.
            tls.replace(&trusting(&Authority::new(), version));
            let error = refused(&served, client.clone()).await;
            assert!(error.message().contains("did not accept the client's certificate"), "{error}");
            tls.replace(&trusting(&stage.clients, version));
            assert_eq!(identity(&served, client.clone()).await.unwrap(), "cart");
            // The client shows another certificate, then none.
            client.replace(&stage.client(&stage.clients.issue_client("till", &[])));
            assert_eq!(identity(&served, client.clone()).await.unwrap(), "till");
            client.replace(&stage.anonymous());
            assert!(
                refused(&served, client.clone()).await.message().contains("asks for a client certificate")
            );
            // The client trusts others.
            client.replace(&stage.client(&shown));
            assert_eq!(identity(&served, client.clone()).await.unwrap(), "cart");
            client.replace(&ClientTls::with_ca_pem(&Authority::named("another").pem).unwrap());
            let error = refused(&served, client.clone()).await;
            assert!(error.message().contains("not issued by an authority"), "{error}");
            assert!(served.stop().await.is_clean());
        }
    });
}

// wire-rules 95: a reload takes any pair of certificate and key that fit together; who connects says what is wrong.
#[test]
fn certificates_that_do_not_fit_are_found_after_a_reload_too() {
    virtual_time(async {
        let stage = Stage::new();
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        let write = |side: &str, certificate: &Certificate| {
            fs::write(path(&format!("{side}.pem")), &certificate.chain).unwrap();
            fs::write(path(&format!("{side}.key")), &certificate.key).unwrap();
        };
        let (server, client) = (stage.servers.issue(&[NAME]), stage.clients.issue_client("cart", &[]));
        write("server", &server);
        write("client", &client);
        let at_server = ServerTls::from_files(path("server.pem"), path("server.key")).unwrap();
        let at_server = at_server.client_ca_pem(&stage.clients.pem).unwrap();
        let served = stage.serve(at_server.clone());
        let at_client = stage.anonymous().identity_files(path("client.pem"), path("client.key")).unwrap();
        assert_eq!(identity(&served, at_client.clone()).await.unwrap(), "cart");
        for (bad, message) in [
            (stage.servers.issue_expired(&[NAME]), "the certificate is out of date"),
            (stage.servers.issue_early(&[NAME]), "the certificate is not valid yet"),
            (stage.servers.issue(&["other.test"]), "not for server.test but for other.test"),
            (stage.servers.issue_client(NAME, &[NAME]), "the certificate cannot be accepted"),
        ] {
            write("server", &bad);
            assert!(at_server.reload().unwrap());
            let error = refused(&served, at_client.clone()).await;
            assert_eq!(error.phase(), Phase::Tls, "{error:?}");
            assert!(error.message().contains(message), "{error}");
        }
        write("server", &server);
        assert!(at_server.reload().unwrap());
        assert_eq!(identity(&served, at_client.clone()).await.unwrap(), "cart");
        for (bad, heard) in [
            (stage.clients.issue_expired(&[]), "the certificate is out of date"),
            (stage.clients.issue_early(&[]), "the certificate is not valid yet"),
            (stage.servers.issue_client("cart", &[]), "not issued by an authority that is trusted here"),
        ] {
            settle().await;
            stage.recorder.take();
            write("client", &bad);
            assert!(at_client.reload().unwrap());
            let error = refused(&served, at_client.clone()).await;
            assert!(error.message().contains("did not accept the client's certificate"), "{error}");
            settle().await;
            let told = stage.recorder.take().join("; ");
            assert!(told.contains(heard), "{told}");
        }
        write("client", &client);
        assert!(at_client.reload().unwrap());
        assert_eq!(identity(&served, at_client).await.unwrap(), "cart");
        assert!(served.stop().await.is_clean());
    });
}

#[test]
fn files_are_read_again_at_every_interval_and_each_time_is_told() {
    virtual_time(async {
        let stage = Stage::new();
        let folder = tempfile::tempdir().unwrap();
        let (chain, key) = (folder.path().join("chain.pem"), folder.path().join("key.pem"));
        let write = || {
            let certificate = stage.servers.issue(&[NAME]);
            fs::write(&chain, certificate.chain).unwrap();
            fs::write(&key, certificate.key).unwrap();
        };
        write();
        let tls = ServerTls::from_files(&chain, &key).unwrap();
        let (told, mut heard) = tokio::sync::mpsc::unbounded_channel();
        let begun = Instant::now();
        let reloading = tokio::spawn(tls.reload_every(Duration::from_mins(10), move |reloaded| {
            told.send(reloaded).unwrap();
        }));
        assert!(!heard.recv().await.unwrap().unwrap());
        assert!(begun.elapsed() >= Duration::from_mins(10));
        write();
        assert!(heard.recv().await.unwrap().unwrap());
        fs::remove_file(&key).unwrap();
        assert!(heard.recv().await.unwrap().unwrap_err().to_string().contains("key.pem"));
        write();
        assert!(heard.recv().await.unwrap().unwrap(), "a failure is not the end");
        reloading.abort();
    });
}

/// Writes down who connections are with once they are ready.
#[derive(Clone, Debug, Default)]
struct Names(Arc<Mutex<Vec<String>>>);

impl Observe for Names {
    fn connection(&self, connection: &ConnectionInfo, event: &ConnectionEvent<'_>) {
        if let ConnectionEvent::Ready = event {
            let identity = connection.peer_identity.as_deref();
            let name = identity.and_then(|identity| identity.common_name()).unwrap_or("nobody");
            self.0.lock().unwrap().push(name.to_owned());
        }
    }
}

#[test]
fn observers_and_interceptors_learn_the_names_too() {
    virtual_time(async {
        let stage = Stage::new();
        let names = Names::default();
        let server = Server::builder()
            .add_service(TestService::new(Arc::default()))
            .tls(stage.server_tls().anonymous_clients())
            .observe(names.clone())
            .interceptor(|call: &mut InterceptedCall<'_>| {
                match call.peer_identity().and_then(|identity| identity.common_name()) {
                    Some("cart") => Ok(()),
                    Some(other) => Err(Status::permission_denied(format!("{other} may not"))),
                    None => Err(Status::unauthenticated("who are you?")),
                }
            });
        let served = serve(server);
        let [cart, thief] = ["cart", "thief"].map(|name| stage.clients.issue_client(name, &[]));
        assert_eq!(identity(&served, stage.client(&cart)).await.unwrap(), "cart");
        let refused = identity(&served, stage.client(&thief)).await.unwrap_err();
        assert_eq!((refused.code(), refused.message()), (Code::PermissionDenied, "thief may not"));
        let refused = identity(&served, stage.anonymous()).await.unwrap_err();
        assert_eq!(refused.code(), Code::Unauthenticated);
        assert_eq!(*names.0.lock().unwrap(), ["cart", "thief", "nobody"]);
        assert!(served.stop().await.is_clean());
    });
}

#[test]
fn a_channel_shows_its_new_certificate_when_it_connects_again() {
    virtual_time(async {
        let stage = Stage::new();
        let served = stage.serve(stage.server_tls());
        let (old, new) = (stage.clients.issue_client("old", &[]), stage.clients.issue_client("new", &[]));
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        fs::write(path("chain.pem"), &old.chain).unwrap();
        fs::write(path("key.pem"), &old.key).unwrap();
        let tls = stage.anonymous().identity_files(path("chain.pem"), path("key.pem")).unwrap();
        let given = tls.clone().server_name(NAME);
        assert_eq!(identity(&served, given.clone()).await.unwrap(), "old");
        fs::write(path("chain.pem"), &new.chain).unwrap();
        fs::write(path("key.pem"), &new.key).unwrap();
        assert_eq!((tls.reload().unwrap(), tls.reload().unwrap()), (true, false));
        assert_eq!(identity(&served, given.clone()).await.unwrap(), "new");
        tls.replace(&stage.client(&old));
        assert_eq!(identity(&served, given).await.unwrap(), "old");
        assert!(served.stop().await.is_clean());
    });
}

#[test]
fn the_oldest_version_is_kept_by_both_sides() {
    // wire-rules 95
    virtual_time(async {
        let stage = Stage::new();
        let Certificate { chain, key } = stage.servers.issue(&[NAME]);
        let newest = ServerTls::from_pem(chain, key).unwrap().min_version(TlsVersion::V1_3);
        let served = stage.serve(newest);
        let new = stage.anonymous().min_version(TlsVersion::V1_3);
        assert_eq!(identity(&served, new).await.unwrap(), "none");
        assert_eq!(identity(&served, stage.anonymous()).await.unwrap(), "none");
        assert!(served.stop().await.is_clean());
    });
}
