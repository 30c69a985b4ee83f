//! `-H 'name: value'`: request headers from the command line.
//!
//! `${VAR}` is replaced from the environment, so that secrets need not stand in the shell's history; the value
//! of a name that ends in `-bin` is base64.

use base64::{
    Engine, alphabet,
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig},
};

use crate::report::Report;

/// A header ready to be sent.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Header {
    /// Lower case.
    pub(crate) name: String,
    pub(crate) value: HeaderValue,
}

#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum HeaderValue {
    Text(String),
    /// Decoded; travels as base64 under a `-bin` name.
    Binary(Vec<u8>),
}

/// Padding is written by some and left out by others: both are read.
pub(crate) const BASE64: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true),
);

/// Reads all headers of the command line; `env` looks variables up.
pub(crate) fn parse_all(
    texts: &[String],
    env: impl Fn(&str) -> Option<String>,
) -> Result<Vec<Header>, Report> {
    texts.iter().map(|text| parse(text, &env)).collect()
}

fn parse(text: &str, env: impl Fn(&str) -> Option<String>) -> Result<Header, Report> {
    let Some((name, value)) = text.split_once(':').filter(|(name, _)| !name.trim().is_empty()) else {
        return Err(Report::input(format!("the header `{text}` has no name")).next("write -H 'name: value'"));
    };
    let name = name.trim().to_ascii_lowercase();
    if let Some(bad) = name.chars().find(|&c| !is_name_char(c)) {
        return Err(Report::input(format!("the header name `{name}` cannot have `{bad}`"))
            .fact("allowed", "a-z 0-9 - _ ."));
    }
    if is_reserved(&name) {
        return Err(Report::input(format!("the header `{name}` belongs to gRPC itself and cannot be set"))
            .next(reserved_hint(&name)));
    }
    let value = expand(value.trim(), &name, env)?;
    if name.ends_with("-bin") {
        let bytes = BASE64.decode(value.as_bytes()).map_err(|error| {
            Report::input(format!("the value of `{name}` is not base64"))
                .fact("cause", error)
                .next("values of names that end in -bin are bytes, written as base64")
        })?;
        return Ok(Header { name, value: HeaderValue::Binary(bytes) });
    }
    if let Some(bad) = value.chars().find(|c| !(' '..='~').contains(c)) {
        return Err(Report::input(format!("the value of `{name}` cannot have the character {bad:?}"))
            .next(format!("only printable ASCII travels as text; send `{name}-bin` with base64 instead")));
    }
    Ok(Header { name, value: HeaderValue::Text(value) })
}

fn is_name_char(c: char) -> bool {
    c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '_' | '.')
}

/// Names that the protocol fills in (wire-rules 20).
fn is_reserved(name: &str) -> bool {
    name.starts_with("grpc-")
        || matches!(name, "te" | "content-type" | "user-agent" | "host" | "connection" | "content-length")
}

fn reserved_hint(name: &str) -> &'static str {
    match name {
        "grpc-timeout" => "use --timeout",
        "host" => "use --authority",
        _ => "leave it out",
    }
}

/// Replaces `${VAR}`; a lone `$` stays.
fn expand(value: &str, name: &str, env: impl Fn(&str) -> Option<String>) -> Result<String, Report> {
    let mut expanded = String::new();
    let mut rest = value;
    while let Some(start) = rest.find("${") {
        let Some(length) = rest[start + 2..].find('}') else { break };
        let variable = &rest[start + 2..start + 2 + length];
        let Some(found) = env(variable) else {
            return Err(Report::input(format!(
                "the environment variable `{variable}` of header `{name}` is not set"
            ))
            .next(format!("export {variable}=.. and try again")));
        };
        expanded.push_str(&rest[..start]);
        expanded.push_str(&found);
        rest = &rest[start + 2 + length + 1..];
    }
    expanded.push_str(rest);
    Ok(expanded)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(text: &str) -> Result<Header, Report> {
        parse(text, |name| (name == "TOKEN").then(|| "s3cret".to_owned()))
    }

    #[test]
    fn names_are_lowered_and_values_trimmed() {
        assert_eq!(
            one("X-Request-Id:  abc ").unwrap(),
            Header { name: "x-request-id".into(), value: HeaderValue::Text("abc".into()) }
        );
        assert_eq!(one("a:").unwrap().value, HeaderValue::Text(String::new()));
        assert_eq!(one("url: http://x:1/").unwrap().value, HeaderValue::Text("http://x:1/".into()));
    }

    #[test]
    fn variables_come_from_the_environment() {
        assert_eq!(
            one("authorization: Bearer ${TOKEN}!").unwrap().value,
            HeaderValue::Text("Bearer s3cret!".into())
        );
        assert_eq!(one("a: $5 ${").unwrap().value, HeaderValue::Text("$5 ${".into()));
        assert!(format!("{:?}", one("a: ${NOPE}").unwrap_err()).contains("`NOPE`"));
    }

    // wire-rules 23: padded and unpadded base64 are the same value.
    #[test]
    fn binary_values_are_base64_with_or_without_padding() {
        let bytes = HeaderValue::Binary(vec![1, 2]);
        assert_eq!(one("trace-bin: AQI=").unwrap().value, bytes);
        assert_eq!(one("trace-bin: AQI").unwrap().value, bytes);
        assert!(one("trace-bin: ???").is_err());
    }

    #[test]
    fn headers_that_cannot_be_sent_are_refused() {
        for bad in [
            "no colon",
            ": x",
            "a b: c",
            "grpc-status: 0",
            "te: x",
            "content-type: x",
            "a: \u{e4}",
            "a: \t\u{1}",
        ] {
            assert_eq!(one(bad).unwrap_err().exit(), crate::exit::Exit::Usage, "{bad}");
        }
        assert!(format!("{:?}", one("grpc-timeout: 1S").unwrap_err()).contains("--timeout"));
    }
}
