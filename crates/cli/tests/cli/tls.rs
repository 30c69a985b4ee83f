//! TLS from the command line: whom to trust, what the server is called, and each wrong guess with its sentence.

use std::fs;

use peregrine_server::ServerTls;
use peregrine_testkit::Authority;
use peregrine_testkit::certificates::Certificate;

use crate::process::{Run, command, file, finish, peregrine};
use crate::server::TestServer;

/// A server that is called `names`, and the file of the authority to trust.
fn start(names: &[&str]) -> (TestServer, tempfile::TempDir, String) {
    let authority = Authority::new();
    let Certificate { chain, key } = authority.issue(names);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ca.pem");
    fs::write(&path, &authority.pem).unwrap();
    let server = TestServer::over_tls(ServerTls::from_pem(chain, key).unwrap());
    (server, folder, path.to_str().unwrap().to_owned())
}

fn echo(address: &str, flags: &[&str]) -> Run {
    let proto = file("proto/everything.proto");
    let arguments =
        ["call", address, "test.v1.Everything/Echo", "--proto", &proto, "-d", "{\"name\": \"x\"}"];
    peregrine(&[&arguments, flags].concat())
}

#[test]
fn a_trusted_server_is_called() {
    let (server, _folder, authority) = start(&["127.0.0.1"]);
    let run = echo(&server.address, &["--cacert", &authority]).expect(0);
    assert!(run.out.contains("\"x\""), "{}", run.out);
    echo(&format!("https://{}", server.address), &["--cacert", &authority]).expect(0);
}

#[test]
fn a_certificate_for_another_name_shows_its_names_and_the_flag() {
    let (server, _folder, authority) = start(&["one.test", "*.two.test"]);
    echo(&server.address, &["--cacert", &authority]).expect(3).says(&[
        "phase: tls",
        "not for 127.0.0.1 but for one.test, *.two.test",
        "--server-name",
    ]);
    echo(&server.address, &["--cacert", &authority, "--server-name", "a.two.test"]).expect(0);
}

#[test]
fn a_certificate_by_somebody_else_is_not_trusted() {
    let (server, ..) = start(&["127.0.0.1"]);
    let (_other, _folder, stranger) = start(&["127.0.0.1"]);
    echo(&server.address, &["--cacert", &stranger])
        .expect(3)
        .says(&["not issued by an authority", "--cacert"]);
}

#[test]
fn each_wrong_guess_has_its_sentence() {
    let (server, _folder, authority) = start(&["127.0.0.1"]);
    echo(&server.address, &[]).expect(3).says(&["HTTP/2 start failed", "this port speaks TLS", "https://"]);
    let plain = TestServer::bare();
    echo(&plain.address, &["--cacert", &authority]).expect(3).says(&["HTTP/2 without TLS", "--plaintext"]);
}

#[test]
fn without_cacert_the_authorities_of_the_system_are_trusted() {
    let (server, _folder, authority) = start(&["127.0.0.1"]);
    let list = |authorities: &str| {
        let proto = file("proto/everything.proto");
        let url = format!("https://{}", server.address);
        let mut command =
            command(&["call", &url, "test.v1.Everything/Echo", "--proto", &proto, "-d", "{\"name\": \"x\"}"]);
        // What OpenSSL reads too, and the library documents.
        command.env("SSL_CERT_FILE", authorities).env_remove("SSL_CERT_DIR");
        finish(command)
    };
    list(&authority).expect(0);
    let (_other, _folder, stranger) = start(&["127.0.0.1"]);
    list(&stranger).expect(3).says(&["not issued by an authority", "--cacert"]);
    list("/nonexistent/authorities.pem")
        .expect(2)
        .says(&["trusts no certificate authority", "--cacert FILE"]);
}

/// A server that asks for certificates, its authority's file, and files of a client's certificate and key by `clients`.
fn start_mutual(clients: &Authority, shown_by: &Authority) -> (TestServer, tempfile::TempDir, [String; 3]) {
    let servers = Authority::new();
    let Certificate { chain, key } = servers.issue(&["127.0.0.1"]);
    let tls = ServerTls::from_pem(chain, key).unwrap().client_ca_pem(&clients.pem).unwrap();
    let client = shown_by.issue_client("a person", &[]);
    let folder = tempfile::tempdir().unwrap();
    let texts = [("ca.pem", &servers.pem), ("client.pem", &client.chain), ("client.key", &client.key)];
    let files = texts.map(|(name, text)| {
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    });
    (TestServer::over_tls(tls), folder, files)
}

#[test]
fn a_server_that_asks_for_a_certificate_is_shown_one() {
    let clients = Authority::new();
    let (server, _folder, [authority, certificate, key]) = start_mutual(&clients, &clients);
    let shown = ["--cacert", &authority, "--cert", &certificate, "--key", &key];
    assert!(echo(&server.address, &shown).expect(0).out.contains("\"x\""));
    echo(&server.address, &["--cacert", &authority]).expect(3).says(&[
        "phase: tls",
        "the server asks for a client certificate",
        "--cert FILE --key FILE",
    ]);
    let json = echo(&server.address, &["--cacert", &authority, "--output", "json"]).expect(3).error_json();
    assert_eq!((json["kind"].as_str(), json["phase"].as_str()), (Some("connect"), Some("tls")), "{json}");
}

#[test]
fn a_certificate_that_the_server_does_not_accept_is_named_as_ours() {
    let (server, _folder, [authority, certificate, key]) =
        start_mutual(&Authority::new(), &Authority::named("unknown to the server"));
    echo(&server.address, &["--cacert", &authority, "--cert", &certificate, "--key", &key])
        .expect(3)
        .says(&["did not accept the client's certificate", "UnknownCA", "--cert"]);
}

#[test]
fn an_expired_certificate_says_so_and_when() {
    let authority = Authority::new();
    let Certificate { chain, key } = authority.issue_expired(&["127.0.0.1"]);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ca.pem");
    fs::write(&path, &authority.pem).unwrap();
    let server = TestServer::over_tls(ServerTls::from_pem(chain, key).unwrap());
    echo(&server.address, &["--cacert", path.to_str().unwrap()]).expect(3).says(&[
        "out of date",
        "cause: ",
        "clocks",
    ]);
}

#[test]
fn flags_for_tls_do_not_fit_a_plaintext_address() {
    let (_server, _folder, [_, certificate, key]) = start_mutual(&Authority::new(), &Authority::new());
    echo("http://127.0.0.1:1", &["--cert", &certificate, "--key", &key])
        .expect(2)
        .says(&["--cert needs TLS", "https://127.0.0.1:1"]);
    echo("127.0.0.1:1", &["--cert", &certificate]).expect(2).says(&["--key"]);
    echo("127.0.0.1:1", &["--cacert", "/nonexistent.pem"]).expect(2).says(&["/nonexistent.pem"]);
}
