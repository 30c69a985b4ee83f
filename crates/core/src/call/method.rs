//! Names and shapes of methods and services.

use std::fmt;

/// A method as generated code or a tool describes it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct MethodDescriptor<'a> {
    /// `:path` of its calls, `/package.Service/Method`.
    pub path: &'a str,
    /// Full name of the service, `package.Service`.
    pub service: &'a str,
    /// Name of the method as the proto has it.
    pub name: &'a str,
    /// Whether the client sends a stream.
    pub client_streaming: bool,
    /// Whether the server answers with a stream.
    pub server_streaming: bool,
    /// An encoded `FileDescriptorSet` that has the service's file and all it imports, for message formats that go by
    /// schema; empty if there is none.
    pub file_descriptor_set: &'a [u8],
}

impl fmt::Debug for MethodDescriptor<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MethodDescriptor")
            .field("path", &self.path)
            .field("client_streaming", &self.client_streaming)
            .field("server_streaming", &self.server_streaming)
            .finish_non_exhaustive()
    }
}

/// A service as generated code describes it.
#[derive(Clone, Copy, Debug)]
pub struct ServiceDescriptor {
    /// Full name, `package.Service`.
    pub name: &'static str,
    /// Its methods; the position is the method's index.
    pub methods: &'static [MethodDescriptor<'static>],
    /// An encoded `FileDescriptorSet` that has the service's file and all it
    /// imports, for reflection; may be empty.
    pub file_descriptor_set: &'static [u8],
}

/// A method path known at run time only.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct MethodPath {
    path: Box<str>,
    /// Index of the slash between service and method.
    slash: usize,
}

impl MethodPath {
    /// From `package.Service/Method`, with or without a slash in front. Without
    /// any slash in between, the last dot separates the method.
    ///
    /// # Errors
    /// No service, no method, or a character that a path cannot carry.
    pub fn parse(text: &str) -> Result<Self, InvalidMethodPath> {
        let error = || InvalidMethodPath { text: text.into() };
        let body = text.strip_prefix('/').unwrap_or(text);
        let (service, name) = body.rsplit_once('/').or_else(|| body.rsplit_once('.')).ok_or_else(error)?;
        if service.is_empty() || name.is_empty() || !body.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(error());
        }
        Ok(Self { path: format!("/{service}/{name}").into(), slash: service.len() + 1 })
    }

    /// The value of `:path`.
    pub fn as_str(&self) -> &str {
        &self.path
    }

    /// Full name of the service.
    pub fn service(&self) -> &str {
        &self.path[1..self.slash]
    }

    /// Name of the method.
    pub fn name(&self) -> &str {
        &self.path[self.slash + 1..]
    }

    /// The descriptor of a method with this path and shape.
    pub fn descriptor(&self, client_streaming: bool, server_streaming: bool) -> MethodDescriptor<'_> {
        MethodDescriptor {
            path: &self.path,
            service: self.service(),
            name: self.name(),
            client_streaming,
            server_streaming,
            file_descriptor_set: &[],
        }
    }
}

impl fmt::Display for MethodPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.path)
    }
}

/// Service and method of a raw `:path`: what is between the first and the last
/// slash, and what is behind it (wire-rules 4, 5, R1). `None` if it does not
/// begin with a slash or has no second one.
pub fn split_path(path: &[u8]) -> Option<(&[u8], &[u8])> {
    let body = path.strip_prefix(b"/")?;
    let slash = body.iter().rposition(|&byte| byte == b'/')?;
    Some((&body[..slash], &body[slash + 1..]))
}

/// Text that is no method path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidMethodPath {
    text: Box<str>,
}

impl fmt::Display for InvalidMethodPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} is no method path; the form is package.Service/Method", self.text)
    }
}

impl std::error::Error for InvalidMethodPath {}

#[cfg(test)]
mod tests {
    use super::*;

    // wire-rules 4, 5, R1: raw bytes, split at the last slash, nothing decoded.
    #[test]
    fn raw_paths_are_split_at_the_last_slash() {
        let cases = [
            (&b"/s.S/M"[..], Some((&b"s.S"[..], &b"M"[..]))),
            (&b"//s.S/M"[..], Some((&b"/s.S"[..], &b"M"[..]))),
            (&b"/s.S/M/"[..], Some((&b"s.S/M"[..], &b""[..]))),
            (&b"/s.S/M/x"[..], Some((&b"s.S/M"[..], &b"x"[..]))),
            (&b"/s.S/%4D"[..], Some((&b"s.S"[..], &b"%4D"[..]))),
            (&b"/s.S/M?x=1"[..], Some((&b"s.S"[..], &b"M?x=1"[..]))),
            (&b"/s.S/\xff"[..], Some((&b"s.S"[..], &b"\xff"[..]))),
            (&b"//"[..], Some((&b""[..], &b""[..]))),
            (b"s.S/M", None),
            (b"/s.S", None),
            (b"/", None),
            (b"*", None),
            (b"", None),
        ];
        for (path, expected) in cases {
            assert_eq!(split_path(path), expected, "{}", path.escape_ascii());
        }
    }

    #[test]
    fn a_path_is_made_from_every_usual_spelling() {
        for text in ["/p.S/M", "p.S/M", "p.S.M"] {
            let path = MethodPath::parse(text).unwrap();
            assert_eq!((path.as_str(), path.service(), path.name()), ("/p.S/M", "p.S", "M"));
            let method = path.descriptor(true, false);
            assert_eq!((method.path, method.service, method.name), ("/p.S/M", "p.S", "M"));
            assert!(method.client_streaming && !method.server_streaming);
        }
        assert_eq!(MethodPath::parse("S.M").unwrap().as_str(), "/S/M");
    }

    #[test]
    fn what_is_no_path_is_refused_with_the_form() {
        for text in ["", "/", "S", "/S", "S/", "/M", "p.S/M x", "p.S/M\n", "p.\u{e9}/M", "."] {
            let error = MethodPath::parse(text).unwrap_err();
            assert!(error.to_string().contains("package.Service/Method"), "{text:?}");
        }
    }
}
