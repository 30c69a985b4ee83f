//! Errors as a user's crate sees them.

use peregrine::error_details::{ErrorInfo, ResourceInfo};
use peregrine::{Code, Server, Status};
use peregrine_tests_downstream::library::v1::{Book, LibraryServer};
use peregrine_tests_downstream::{LibraryError, Reading, visit};

// wire-rules D1
#[test]
fn errors_are_one_word() {
    assert_eq!(size_of::<Status>(), size_of::<usize>());
    assert_eq!(size_of::<Result<(), Status>>(), size_of::<usize>());
    assert_eq!(size_of::<peregrine::Error>(), size_of::<usize>());
    assert!(size_of::<LibraryError>() <= 3 * size_of::<usize>());
}

// wire-rules E1, 61
#[tokio::test]
async fn the_users_error_arrives_as_a_status_with_its_details() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let serving = tokio::spawn(Server::builder().add_service(LibraryServer::new(Reading)).serve(listener));
    let client = visit(&format!("http://{address}")).await.unwrap();

    let book = |title: &str| Book { title: title.into(), ..Default::default() };
    assert_eq!(client.get(book("Emma")).await.unwrap().title, "Emma");
    let status = client.get(book("lost")).await.unwrap_err();
    assert_eq!((status.code(), status.message()), (Code::NotFound, "there is no lost"));
    assert_eq!(status.detail::<ErrorInfo>().unwrap().reason, "LOST");
    assert_eq!(status.detail::<ResourceInfo>().unwrap().resource_name, "lost");
    let report = format!("{status:?}");
    assert!(report.contains("detail: ErrorInfo { reason: \"LOST\""), "{report}");

    let mut list = client.list(book("lost")).await.unwrap();
    assert_eq!(list.message().await.unwrap_err().detail::<ErrorInfo>().unwrap().reason, "LOST");
    serving.abort();
}
