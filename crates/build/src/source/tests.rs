//! Compiling small trees of proto files in a temporary folder.

use std::fs;
use std::path::PathBuf;

use prost::Message as _;
use tempfile::TempDir;

use super::*;

/// A package folder with these files.
fn tree(files: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    folder
}

fn compile_in(folder: &TempDir, files: &[&str]) -> Result<Compiled> {
    let files: Vec<PathBuf> = files.iter().map(PathBuf::from).collect();
    compile(&files, &[], folder.path())
}

fn names(compiled: &Compiled) -> Vec<String> {
    let set = prost_types::FileDescriptorSet::decode(&*compiled.descriptor_set).unwrap();
    set.file.iter().map(|file| file.name().to_owned()).collect()
}

const EMPTY: &str = "syntax = \"proto3\";\n";

#[test]
fn imports_beside_the_file_and_from_a_folder_above_both_work() {
    let source = "syntax = \"proto3\";\nimport \"near.proto\";\nimport \"common/far.proto\";\nimport \"google/protobuf/any.proto\";\n";
    let folder = tree(&[
        ("proto/a/x.proto", source),
        ("proto/a/near.proto", EMPTY),
        ("proto/common/far.proto", EMPTY),
    ]);
    let compiled = compile_in(&folder, &["proto/a/x.proto"]).unwrap();
    assert_eq!(names(&compiled), ["near.proto", "common/far.proto", "google/protobuf/any.proto", "x.proto"]);
    assert_eq!(compiled.files_read.len(), 3, "built-in files are not read from disk");
}

#[test]
fn one_root_is_preferred_so_that_files_have_one_name() {
    let x = "syntax = \"proto3\";\nimport \"a/y.proto\";\n";
    let folder = tree(&[("proto/a/x.proto", x), ("proto/a/y.proto", EMPTY)]);
    let compiled = compile_in(&folder, &["proto/a/x.proto", "proto/a/y.proto"]).unwrap();
    assert_eq!(names(&compiled), ["a/y.proto", "a/x.proto"]);
}

#[test]
fn files_outside_the_package_find_their_imports() {
    let x = "syntax = \"proto3\";\nimport \"shared/y.proto\";\n";
    let folder = tree(&[("app/Cargo.toml", ""), ("proto/v1/x.proto", x), ("proto/shared/y.proto", EMPTY)]);
    let compiled = compile(&[PathBuf::from("../proto/v1/x.proto")], &[], &folder.path().join("app")).unwrap();
    assert_eq!(names(&compiled), ["shared/y.proto", "v1/x.proto"]);
}

#[test]
fn a_file_under_two_names_is_an_error_that_names_both() {
    let x = "syntax = \"proto3\";\nimport \"y.proto\";\nimport \"z.proto\";\nimport \"top.proto\";\n";
    let y = "syntax = \"proto3\";\nimport \"a/z.proto\";\n";
    let folder =
        tree(&[("p/a/x.proto", x), ("p/a/y.proto", y), ("p/a/z.proto", EMPTY), ("p/top.proto", EMPTY)]);
    let error = compile_in(&folder, &["p/a/x.proto"]).unwrap_err();
    let report = format!("{error:?}");
    assert!(report.contains("\"a/z.proto\" and \"z.proto\""), "{report}");
    assert!(report.contains("next: "), "{report}");
}

#[test]
fn a_name_means_the_same_whatever_is_compiled_beside_it() {
    let far = "syntax = \"proto3\";\npackage p.ext.config;\nmessage Other {}\n";
    let near = "syntax = \"proto3\";\npackage p.config;\nmessage M {}\n";
    let x = "syntax = \"proto3\";\npackage p.ext.x;\nimport \"near.proto\";\nmessage X { config.M m = 1; }\n";
    let folder = tree(&[("far.proto", far), ("near.proto", near), ("x.proto", x)]);
    let compiled = compile_in(&folder, &["far.proto", "x.proto"]).unwrap();
    let set = prost_types::FileDescriptorSet::decode(&*compiled.descriptor_set).unwrap();
    assert_eq!(set.file[2].message_type[0].field[0].type_name(), ".p.config.M");
}

#[test]
fn custom_options_are_found_as_types_are() {
    let far = "syntax = \"proto3\";\npackage p.ext.note;\nmessage Other {}\n";
    let near = "syntax = \"proto2\";\npackage p.note;\nimport \"google/protobuf/descriptor.proto\";\nextend google.protobuf.FieldOptions { optional string text = 50001; }\n";
    let x = "syntax = \"proto3\";\npackage p.ext.x;\nimport \"near.proto\";\nmessage X { int32 m = 1 [(note.text) = \"y\"]; }\n";
    let folder = tree(&[("far.proto", far), ("near.proto", near), ("x.proto", x)]);
    compile_in(&folder, &["far.proto", "x.proto"]).unwrap();
}

#[test]
fn an_import_cycle_shows_the_import_that_closes_it() {
    let import = |name: &str| format!("syntax = \"proto3\";\nimport \"{name}\";\n");
    let folder = tree(&[("a.proto", &import("b.proto")), ("b.proto", &import("a.proto"))]);
    let report = format!("{:?}", compile_in(&folder, &["a.proto"]).unwrap_err());
    assert!(report.contains("import cycle: a.proto -> b.proto -> a.proto"), "{report}");
    assert!(report.contains("b.proto:2:") && report.contains("imported here"), "{report}");
}

#[test]
fn a_second_import_of_a_file_is_an_error() {
    let x = "syntax = \"proto3\";\nimport \"y.proto\";\nimport \"y.proto\";\n";
    let folder = tree(&[("x.proto", x), ("y.proto", EMPTY)]);
    let report = format!("{:?}", compile_in(&folder, &["x.proto"]).unwrap_err());
    assert!(report.contains("x.proto:3:"), "{report}");
    assert!(report.contains("import 'y.proto' is there twice"), "{report}");
}

#[test]
fn a_well_known_file_that_cannot_be_parsed_is_replaced_by_the_built_in_one() {
    let newest = "edition = \"2024\";\npackage google.protobuf;\nmessage Empty {}\n";
    let x = "syntax = \"proto3\";\nimport \"google/protobuf/empty.proto\";\nmessage X { google.protobuf.Empty e = 1; }\n";
    let folder = tree(&[("google/protobuf/empty.proto", newest), ("x.proto", x)]);
    assert_eq!(
        names(&compile_in(&folder, &["x.proto"]).unwrap()),
        ["google/protobuf/empty.proto", "x.proto"]
    );
}

#[test]
fn a_syntax_error_shows_file_line_and_caret() {
    let folder = tree(&[("proto/a.proto", "syntax = \"proto3\";\nmessage M {\n  string name 1;\n}\n")]);
    let error = compile_in(&folder, &["proto/a.proto"]).unwrap_err();
    assert_eq!(error.location(), Some(("proto/a.proto", 3, 15)));
    let report = format!("{error:?}");
    assert!(report.contains("\n  --> proto/a.proto:3:15\n"), "{report}");
    assert!(report.contains("\n 3 |   string name 1;\n   |               ^ "), "{report}");
}

#[test]
fn an_unknown_type_in_an_import_is_shown_in_that_file() {
    let x = "syntax = \"proto3\";\nimport \"y.proto\";\n";
    let y = "syntax = \"proto3\";\nservice S {\n  rpc Say (Helo) returns (Helo);\n}\n";
    let folder = tree(&[("proto/x.proto", x), ("proto/y.proto", y)]);
    let report = format!("{:?}", compile_in(&folder, &["proto/x.proto"]).unwrap_err());
    assert!(report.contains("proto/y.proto:3:12"), "{report}");
    assert!(report.contains("Helo"), "{report}");
    assert!(report.contains("next: declare it"), "{report}");
}

#[test]
fn a_missing_import_says_where_was_looked() {
    let folder = tree(&[("proto/x.proto", "syntax = \"proto3\";\nimport \"gone.proto\";\n")]);
    let report = format!("{:?}", compile_in(&folder, &["proto/x.proto"]).unwrap_err());
    assert!(report.contains("import 'gone.proto' not found"), "{report}");
    assert!(report.contains("imports are looked up in: proto, ."), "{report}");
    assert!(report.contains("proto/x.proto:2:"), "{report}");
}

#[test]
fn a_name_that_is_not_there_gets_a_suggestion() {
    let other = "syntax = \"proto3\";\npackage o;\nmessage Elsewhere { enum Inner { ZERO = 0; } }\n";
    let suggested = |field: &str| {
        let text = format!(
            "syntax = \"proto3\";\npackage p;\n// message Hallo\nmessage Hello {{ message Nested {{}} }}\nmessage M {{ {field} f = 1; }}\n"
        );
        let folder = tree(&[("a.proto", &text), ("other.proto", other)]);
        let error = compile_in(&folder, &["other.proto", "a.proto"]).unwrap_err();
        error.next_step().unwrap_or_default().to_owned()
    };
    assert_eq!(suggested("Helo"), "did you mean Hello?");
    assert_eq!(suggested("p.Helllo"), "did you mean Hello?");
    assert_eq!(suggested("Nested"), "Nested is declared in this file, in another scope: write its full name");
    assert_eq!(
        suggested("Elsewhere"),
        "other.proto declares Elsewhere: import \"other.proto\" and write its name with the package"
    );
    let timestamp = "add import \"google/protobuf/timestamp.proto\"; to a.proto";
    assert_eq!(suggested("google.protobuf.Timestamp"), timestamp);
    assert!(suggested("Unheard").starts_with("declare it, import the file"));
}

#[test]
fn a_missing_file_suggests_the_nearest_one() {
    let folder = tree(&[("proto/greeter.proto", EMPTY)]);
    let report = format!("{:?}", compile_in(&folder, &["proto/greter.proto"]).unwrap_err());
    assert!(report.contains("there is no file proto/greter.proto"), "{report}");
    assert!(report.contains("did you mean proto/greeter.proto?"), "{report}");
}

#[test]
fn a_missing_file_without_a_namesake_says_what_paths_are_relative_to() {
    let folder = tree(&[("build.rs", "")]);
    let report = format!("{:?}", compile_in(&folder, &["greeter.proto"]).unwrap_err());
    assert!(report.contains("there is no file greeter.proto"), "{report}");
    assert!(report.contains(&format!("relative to {}", folder.path().display())), "{report}");
}

#[test]
fn an_edition_gets_an_error_that_names_the_descriptor_set_way() {
    let folder = tree(&[("a.proto", "// text\n/* more */\nedition = \"2023\";\nmessage M {}\n")]);
    let error = compile_in(&folder, &["a.proto"]).unwrap_err();
    assert_eq!(error.location(), Some(("a.proto", 3, 1)));
    let report = format!("{error:?}");
    assert!(report.contains("compile_descriptor_set"), "{report}");
}

#[test]
fn proto3_optional_compiles() {
    let folder = tree(&[("a.proto", "syntax = \"proto3\";\nmessage M { optional string name = 1; }\n")]);
    assert!(compile_in(&folder, &["a.proto"]).is_ok());
}
