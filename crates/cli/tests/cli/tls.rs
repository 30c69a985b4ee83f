//! TLS from the command line: whom to trust, what the server is called, and each wrong guess with its sentence.

use std::fs;

use peregrine_server::ServerTls;
use peregrine_testkit::Authority;
use peregrine_testkit::certificates::Certificate;

use crate::process::{Run, file, peregrine};
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
