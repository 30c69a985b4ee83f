//! What somebody may have meant by a name that is not there.

use std::path::{Path, PathBuf};

use super::SourceFile;

/// The next step for `name`, which the file `user` uses and nothing that it imports declares. `opened` are the files
/// read so far.
pub(super) fn for_undefined(name: &str, user: &str, opened: &[SourceFile]) -> String {
    let plain = name.trim_start_matches('.');
    if let Some(file) = well_known_file(plain) {
        return format!("add import \"{file}\"; to {user}");
    }
    let last = plain.rsplit('.').next().unwrap_or(plain);
    let mut near: Option<(usize, &str)> = None;
    for file in opened {
        for declared in declared_names(&file.text) {
            if declared == last {
                return elsewhere(declared, file, user);
            }
            let distance = edit_distance(last, declared);
            // Two letters in a word of six; one in a shorter one.
            if distance <= (last.len() / 3).min(2) && near.is_none_or(|(best, _)| distance < best) {
                near = Some((distance, declared));
            }
        }
    }
    match near {
        Some((_, declared)) => format!("did you mean {declared}?"),
        None => {
            "declare it, import the file that declares it, or write its full name with the package".to_owned()
        }
    }
}

/// The name is right and cannot be seen from where it is used.
fn elsewhere(declared: &str, file: &SourceFile, user: &str) -> String {
    if file.name == user {
        format!("{declared} is declared in this file, in another scope: write its full name")
    } else {
        format!(
            "{} declares {declared}: import \"{}\" and write its name with the package",
            file.shown, file.name
        )
    }
}

/// The file of Google's well-known types that declares `full_name`.
fn well_known_file(full_name: &str) -> Option<&'static str> {
    Some(match full_name.strip_prefix("google.protobuf.")? {
        "Any" => "google/protobuf/any.proto",
        "Duration" => "google/protobuf/duration.proto",
        "Empty" => "google/protobuf/empty.proto",
        "FieldMask" => "google/protobuf/field_mask.proto",
        "Struct" | "Value" | "ListValue" | "NullValue" => "google/protobuf/struct.proto",
        "Timestamp" => "google/protobuf/timestamp.proto",
        "BoolValue" | "BytesValue" | "DoubleValue" | "FloatValue" | "Int32Value" | "Int64Value"
        | "StringValue" | "UInt32Value" | "UInt64Value" => "google/protobuf/wrappers.proto",
        _ => return None,
    })
}

/// Names behind the words `message` and `enum`, line comments left out. Good enough for a suggestion.
fn declared_names(text: &str) -> impl Iterator<Item = &str> {
    let code = text.lines().map(|line| line.split("//").next().unwrap_or_default());
    let words = code.flat_map(|line| line.split(|c: char| !(c.is_alphanumeric() || c == '_')));
    let mut before = "";
    words
        .filter(|word| !word.is_empty())
        .filter(move |&word| matches!(std::mem::replace(&mut before, word), "message" | "enum"))
}

/// The `.proto` file beside a missing one whose name is closest, if one is close.
pub(super) fn nearest_proto(missing: &Path) -> Option<PathBuf> {
    let wanted = missing.file_name()?.to_str()?;
    let entries = std::fs::read_dir(missing.parent()?).ok()?;
    let protos = entries
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|ext| ext == "proto"));
    let scored = protos.filter_map(|path| {
        let name = path.file_name()?.to_str()?;
        Some((edit_distance(wanted, name), path))
    });
    let (distance, path) = scored.min()?;
    (distance <= 3).then_some(path)
}

/// Levenshtein distance in bytes.
fn edit_distance(left: &str, right: &str) -> usize {
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (i, a) in left.bytes().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, b) in right.bytes().enumerate() {
            let substituted = diagonal + usize::from(a != b);
            diagonal = row[j + 1];
            row[j + 1] = substituted.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[right.len()]
}
