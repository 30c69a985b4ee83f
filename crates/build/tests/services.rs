//! What is generated for a service.

mod common;

use common::{assert_has, assert_lacks, generated, generated_with, report};
use peregrine_build::configure;

const GREETER: &str = "
package greeter.v1;
// Greets people.
service Greeter {
  // Says hello.
  //
  //     let code = compiles_as_no_test();
  rpc SayHello(HelloRequest) returns (HelloReply);
  rpc List(HelloRequest) returns (stream HelloReply) { option deprecated = true; }
  rpc Collect(stream HelloRequest.Inner) returns (HelloReply);
  rpc Chat(stream HelloRequest) returns (stream HelloReply);
}
message HelloRequest { string name = 1; message Inner {} }
message HelloReply { string message = 1; bytes data = 2; }
";

#[test]
fn the_trait_has_the_four_shapes() {
    let text = generated(GREETER);
    assert_has(&text, "pub mod greeter { pub mod v1 {");
    assert_has(&text, "pub trait Greeter: ::core::marker::Send + ::core::marker::Sync + 'static {");
    assert_has(
        &text,
        "fn say_hello(&self, request: ::peregrine::rt::Request<self::HelloRequest>,) -> impl ::core::future::Future<
            Output = ::core::result::Result<::peregrine::rt::Response<self::HelloReply>, ::peregrine::rt::Status,>,
        > + ::core::marker::Send;",
    );
    assert_has(
        &text,
        "::peregrine::rt::Response<impl ::peregrine::rt::Stream<
            Item = ::core::result::Result<self::HelloReply, ::peregrine::rt::Status,>,
        > + ::core::marker::Send,>",
    );
    assert_has(
        &text,
        "request: ::peregrine::rt::Request<::peregrine::rt::Streaming<self::hello_request::Inner>,>",
    );
}

#[test]
fn the_server_dispatches_by_index() {
    let text = generated(GREETER);
    assert_has(&text, "impl<T: self::Greeter> ::peregrine::rt::Service for GreeterServer<T> {");
    for (arm, slot) in ["0usize => ", "1usize => ", "2usize => ", "3usize => "].iter().zip([
        "unary_slot",
        "server_streaming_slot",
        "client_streaming_slot",
        "bidi_slot",
    ]) {
        assert_has(
            &text,
            &format!(
                "{arm} {{ ::core::option::Option::Some(::peregrine::rt::{slot}::<::peregrine::rt::BuffaCodec,"
            ),
        );
    }
    assert_has(&text, "<T as self::Greeter>::say_hello(&*service, request).await");
    assert_has(&text, "path: \"/greeter.v1.Greeter/SayHello\"");
    assert_has(&text, "file_descriptor_set: self::super::super::FILE_DESCRIPTOR_SET");
}

#[test]
fn the_client_has_the_four_shapes_and_senders() {
    let text = generated(GREETER);
    assert_has(&text, "pub async fn connect(target: impl ::peregrine::rt::IntoTarget,)");
    assert_has(
        &text,
        "pub fn say_hello(&self, request: impl ::peregrine::rt::IntoRequest<self::HelloRequest>,) -> impl",
    );
    assert_has(
        &text,
        "pub async fn chat(&self, request: impl ::peregrine::rt::IntoStreamingRequest<self::HelloRequest>,)",
    );
    assert_has(&text, "pub fn collect_sender(&self,)");
    assert_has(&text, "pub fn chat_sender(&self,)");
    assert_lacks(&text, "list_sender");
}

// bug-reports 96
#[test]
fn comments_become_rustdoc_that_is_not_run() {
    let text = generated(GREETER);
    assert_has(&text, "/// Greets people.");
    assert_has(&text, "/// Says hello.\n///\n/// ```text\n/// let code = compiles_as_no_test();\n/// ```");
}

#[test]
fn deprecated_rpcs_are_marked_on_both_sides() {
    let text = generated(GREETER);
    assert_eq!(text.matches("#[deprecated]").count(), 2);
    assert_has(&text, "#[deprecated] fn list(");
    assert_has(&text, "#[deprecated] pub async fn list(");
}

#[test]
fn sides_can_be_left_out() {
    let files = [("a.proto", &*format!("syntax = \"proto3\";\n{GREETER}"))];
    let server = generated_with(configure().build_client(false), &files).unwrap();
    assert_has(&server, "pub struct GreeterServer<T>");
    assert_lacks(&server, "GreeterClient");
    let client = generated_with(configure().build_server(false), &files).unwrap();
    assert_has(&client, "pub struct GreeterClient");
    assert_lacks(&client, "pub trait Greeter");
}

#[test]
fn default_bodies_answer_unimplemented() {
    let files = [("a.proto", &*format!("syntax = \"proto3\";\n{GREETER}"))];
    let text = generated_with(configure().default_unimplemented(true), &files).unwrap();
    assert_has(
        &text,
        "::peregrine::rt::Status::unimplemented(\"/greeter.v1.Greeter/SayHello is not implemented\"",
    );
}

// wire-rules G2, bug-reports 94
#[test]
fn rpcs_that_fold_to_one_method_are_an_error_that_names_both() {
    for (first, second) in [("GetFoo", "get_foo"), ("getFoo", "GetFoo"), ("New", "new_"), ("Self", "self_")] {
        let report = report(&format!(
            "package p; message M {{}}\nservice S {{\n  rpc {first}(M) returns (M);\n  rpc {second}(M) returns (M);\n}}"
        ));
        assert!(report.contains(&format!("rpcs {first} and {second} of service S both become")), "{report}");
        assert!(report.contains("a.proto:4:3") && report.contains("a.proto:5:3"), "{report}");
        assert!(report.contains(&format!(" 5 |   rpc {second}(M) returns (M);\n   |   ^")), "{report}");
    }
}

#[test]
fn rpcs_called_like_methods_of_clients_get_an_underscore() {
    let text = generated(
        "message M {} service S { rpc New(M) returns (M); rpc Connect(M) returns (M); rpc Clone(M) returns (M); }",
    );
    for name in ["new_", "connect_", "clone_"] {
        assert_has(&text, &format!("pub fn {name}("));
        assert_has(&text, &format!("<T as self::S>::{name}(&*service, request)"));
    }
    assert_has(&text, "path: \"/S/Connect\"");
}

#[test]
fn a_sender_gives_way_to_an_rpc_of_its_name() {
    let text = generated(
        "message M {} service S { rpc Collect(stream M) returns (M); rpc CollectSender(M) returns (M); }",
    );
    assert_has(&text, "pub fn collect_sender(");
    assert_has(&text, "pub fn collect_sender_(");
}

#[test]
fn generated_names_give_way_to_messages() {
    let text =
        generated("service Foo {} service FooServer {} message FooClient {} message FooServerServer {}");
    assert_has(&text, "pub trait Foo:");
    assert_has(&text, "pub trait FooServer:");
    assert_has(&text, "pub struct FooServer_<T>");
    assert_has(&text, "pub struct FooClient_ {");
    assert_has(&text, "pub struct FooServerServer_<T>");
}

#[test]
fn well_known_types_are_requests_and_responses() {
    let proto = "import \"google/protobuf/empty.proto\"; import \"google/protobuf/wrappers.proto\";
        service S { rpc M(google.protobuf.Empty) returns (google.protobuf.BoolValue); }";
    let text = generated(proto);
    assert_has(&text, "::peregrine::rt::Request<::peregrine::rt::buffa_types::google::protobuf::Empty,>");
}

#[test]
fn nothing_leads_past_the_facade() {
    let text = generated(&format!(
        "import \"google/protobuf/any.proto\";\n{GREETER}\nmessage More {{ google.protobuf.Any any = 1; }}"
    ));
    for path in [" ::buffa", "<::buffa", "(::buffa", "&::buffa"] {
        assert!(!text.contains(path), "{path}");
    }
    assert_has(&text, "impl ::peregrine::rt::buffa::Message for HelloRequest");
    assert_has(&text, "pub data: ::peregrine::rt::buffa::bytes::Bytes");
}

// bug-reports 94: names of what the generated code itself is made of.
#[test]
fn services_and_rpcs_may_be_called_like_what_the_code_around_them_uses() {
    for name in ["Box", "Option", "Some", "Arc", "Service", "Send", "Future", "Request", "Status", "Stream"] {
        let text = generated(&format!(
            "message M {{}} service {name} {{ rpc Slot(M) returns (M); rpc Descriptor(M) returns (M);
             rpc Await(M) returns (M); rpc Async(M) returns (M); rpc Dyn(M) returns (stream M); }}"
        ));
        assert_has(&text, &format!("pub trait {name}:"));
        for rpc in ["r#await", "r#async", "r#dyn"] {
            assert_has(&text, &format!("fn {rpc}(&self,"));
        }
    }
}

// bug-reports 96: fences that never close, of either kind, and code by its indentation.
#[test]
fn comments_that_are_hardly_markdown_become_no_doctest() {
    let text = generated(
        "message M {}
         /* A service.
          *
          *     fn indented() { compile_error!() }
          * ~~~
          * tilde();
          * ~~~
          *
          * \tTab();
          */
         service S {
           // Open:
           // ```rust,should_panic
           // never_closed();
           rpc A(M) returns (M);
         }",
    );
    for line in text.lines().filter(|line| line.trim_start().starts_with("///")) {
        let comment = line.trim_start().trim_start_matches("///").strip_prefix(' ').unwrap_or_default();
        assert!(!comment.starts_with("    ") && !comment.starts_with('\t'), "a doctest: {line}");
        let fence = comment.trim_start();
        if fence.starts_with("```") || fence.starts_with("~~~") {
            assert!(fence.len() == 3 || fence.ends_with("text"), "a doctest: {line}");
        }
    }
    // Whatever follows is not swallowed by the open fence: fences come in pairs.
    assert_eq!(text.matches("/// ```").count() % 2, 0, "{text}");
}
