//! Metadata as the suite writes it: a list of names, each with its values; binary values in base64.

use anyhow::{Context, Result};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use peregrine::{MetadataMap, MetadataValue};

use crate::pb::Header;

/// Adds what `headers` list to `metadata`.
///
/// # Errors
/// A name or a value that no metadata can have.
pub fn add(headers: &[Header], metadata: &mut MetadataMap) -> Result<()> {
    for header in headers {
        for value in &header.value {
            if header.name.to_ascii_lowercase().ends_with("-bin") {
                let bytes = STANDARD_NO_PAD
                    .decode(value.trim_end_matches('='))
                    .with_context(|| format!("{} is not base64: {value}", header.name))?;
                metadata.append_bin(&header.name, &bytes)?;
            } else {
                metadata.append(&header.name, value)?;
            }
        }
    }
    Ok(())
}

/// What `metadata` holds: each name once, where it first stands.
pub fn list(metadata: &MetadataMap) -> Vec<Header> {
    let mut headers: Vec<Header> = Vec::new();
    for (name, value) in metadata {
        let value = match value {
            MetadataValue::Ascii(text) => text.to_owned(),
            MetadataValue::Binary(bytes) => STANDARD_NO_PAD.encode(bytes),
        };
        match headers.iter_mut().find(|header| header.name == name) {
            Some(header) => header.value.push(value),
            None => {
                headers.push(Header { name: name.to_owned(), value: vec![value], ..Default::default() });
            }
        }
    }
    headers
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(name: &str, values: &[&str]) -> Header {
        let value = values.iter().map(|&value| value.to_owned()).collect();
        Header { name: name.to_owned(), value, ..Default::default() }
    }

    // wire-rules 23, 24: values of one name keep their order; binary ones are bytes inside the process.
    #[test]
    fn metadata_goes_there_and_back() {
        let mut metadata = MetadataMap::new();
        add(&[header("X-Many", &["1", "2"]), header("raw-bin", &["AAE", "AAE="])], &mut metadata).unwrap();
        add(&[header("x-many", &["3"])], &mut metadata).unwrap();
        assert_eq!(metadata.get_bin("raw-bin"), Some(&[0, 1][..]));
        assert_eq!(list(&metadata), [header("x-many", &["1", "2", "3"]), header("raw-bin", &["AAE", "AAE"])]);
        assert!(add(&[header("raw-bin", &["?"])], &mut metadata).is_err());
    }
}
