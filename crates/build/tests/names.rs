//! Every proto name becomes something that Rust can say (wire-rules G1). That the result compiles is shown by the crate
//! `tests/codegen`.

mod common;

use common::{assert_has, error_of, generated, report};
use peregrine_build::{Codec, configure};

// wire-rules G1
#[test]
fn keywords_work_as_package_rpc_and_field() {
    let text = generated(
        "package type.self.gen; message M { string fn = 1; string crate = 2; }
         service S { rpc Move(M) returns (M); rpc Self(M) returns (M); rpc gen(M) returns (M); }",
    );
    assert_has(&text, "pub mod r#type { pub mod self_ { pub mod r#gen {");
    assert_has(&text, "pub r#fn: ");
    assert_has(&text, "pub crate_: ");
    for name in ["r#move", "self_", "r#gen"] {
        assert_has(&text, &format!("fn {name}(&self,"));
    }
    assert_has(&text, "path: \"/type.self.gen.S/Self\"");
}

// wire-rules G1
#[test]
fn types_start_with_a_capital_letter_and_keep_their_name_on_the_wire() {
    let text = generated(
        "package p; message type {} message bool { bool b = 1; } message Self {} enum fn { A = 0; }",
    );
    for name in ["Type", "Bool", "Self_"] {
        assert_has(&text, &format!("pub struct {name} {{"));
    }
    assert_has(&text, "pub enum Fn {");
    assert_has(&text, "pub const TYPE_URL: &'static str = \"type.googleapis.com/p.bool\";");
    assert_has(&text, "const FULL_NAME: &'static str = \"p.Self\";");
}

// wire-rules G1
#[test]
fn underscores_are_spelled_out() {
    let text = generated("package _; message _ { int32 _ = 1; } service __ { rpc _(_) returns (_); }");
    assert_has(&text, "pub mod underscore {");
    assert_has(&text, "pub struct Underscore {");
    assert_has(&text, "pub underscore: i32");
    assert_has(&text, "pub trait Underscore_: ");
    assert_has(&text, "fn underscore(&self,");
    assert_has(&text, "path: \"/_.__/_\"");
}

#[test]
fn services_may_be_called_result_and_self() {
    let text = generated("message M {} service Result { rpc Do(M) returns (M); } service Self {}");
    assert_has(&text, "pub trait Result:");
    assert_has(&text, "pub struct ResultServer<T>");
    assert_has(&text, "pub trait Self_:");
    assert_has(&text, "pub struct SelfServer<T>");
    assert_has(&text, "fn r#do(&self,");
}

// wire-rules G1
#[test]
fn a_hidden_trait_of_the_prelude_comes_back() {
    let text =
        generated("message Clone { message Inner { string x = 1; } } message Into { optional int32 x = 1; }");
    assert_has(&text, "use ::core::clone::Clone as _;");
    assert!(
        text.matches("use ::core::clone::Clone as _;").count() > 1,
        "modules below import the message as well"
    );
}

#[test]
fn two_names_that_become_one_are_an_error() {
    let text = report("package p; message foo {} message Foo {}");
    assert!(text.contains("p.foo and p.Foo would both be called p.Foo in Rust"), "{text}");
    assert!(text.contains("next: rename one"), "{text}");
}

#[test]
fn a_generator_that_panics_gives_an_error() {
    let error = error_of(configure().codec(Codec::Prost), "enum E { E_A = 0; A = 1; }");
    assert!(error.to_string().contains("prost gave up"), "{error}");
    assert!(error.to_string().contains("`E_A`"), "{error}");
}

// wire-rules G3
#[test]
fn a_message_beside_a_package_of_its_name_works() {
    let files = [
        (
            "a.proto",
            "syntax = \"proto3\"; package p; import \"b.proto\"; message Foo { message Bar {} q.foo.Bar b = 1; }",
        ),
        ("b.proto", "syntax = \"proto3\"; package p.foo; message Bar {}"),
    ];
    let files = files.map(|(name, text)| (name, text.replace("q.foo", "p.foo")));
    let files: Vec<(&str, &str)> = files.iter().map(|(name, text)| (*name, text.as_str())).collect();
    // `p.foo.Bar` and `p.Foo.Bar` are two types.
    let text = common::generated_with(configure(), &files).unwrap();
    assert_eq!(text.matches("pub struct Bar {").count(), 2);
}

// wire-rules G3
#[test]
fn a_nested_message_beside_a_package_of_its_path_works() {
    let a = "syntax = \"proto3\"; package p; import \"b.proto\";
        message Foo { message Bar { message Baz {} } p.foo.bar.Qux q = 1; }";
    let b =
        "syntax = \"proto3\"; package p.foo.bar; message Qux {} service Baz { rpc Do(Qux) returns (Qux); }";
    let files = [("a.proto", a), ("b.proto", b)];
    // prost has one module for both, and the message was there first; buffa keeps them apart.
    let prost = common::generated_with(configure().codec(Codec::Prost), &files).unwrap();
    assert_eq!(prost.matches("pub mod bar {").count(), 1);
    assert_has(&prost, "pub trait Baz_: ");
    let buffa = common::generated_with(configure(), &files).unwrap();
    assert_has(&buffa, "pub mod foo_ {");
    assert_has(&buffa, "pub trait Baz: ");
}
