//! A report as one line of JSON: `{"error": {..}}`.

use serde_json::{Map, Value};

use super::Parts;

/// The facts under their labels; a label that comes several times becomes an array.
pub(super) fn render(parts: &Parts) -> String {
    let mut error = Map::new();
    error.insert("kind".to_owned(), parts.kind.name().into());
    error.insert("exit_code".to_owned(), parts.exit.code().into());
    error.insert("message".to_owned(), parts.headline.as_str().into());
    for (label, value) in &parts.facts {
        add(&mut error, label, value.as_str().into());
    }
    if let Some(excerpt) = &parts.excerpt {
        error.insert("source".to_owned(), excerpt.to_json());
    }
    for (key, value) in &parts.data {
        error.insert((*key).to_owned(), value.clone());
    }
    if !parts.next.is_empty() {
        error.insert("next".to_owned(), parts.next.clone().into());
    }
    let mut line = Value::Object(Map::from_iter([("error".to_owned(), Value::Object(error))])).to_string();
    line.push('\n');
    line
}

fn add(object: &mut Map<String, Value>, key: &str, value: Value) {
    match object.get_mut(key) {
        None => {
            object.insert(key.to_owned(), value);
        }
        Some(Value::Array(several)) => several.push(value),
        Some(one) => *one = Value::Array(vec![one.take(), value]),
    }
}
