//! Names and shapes of methods and services.

use std::fmt;

/// A method as generated code or a tool describes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
    /// From `package.Service/Method`, with or without the slash in front.
    ///
    /// # Errors
    /// No service, no method, or a character that a path cannot carry.
    pub fn parse(_text: &str) -> Result<Self, InvalidMethodPath> {
        todo!()
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
pub fn split_path(_path: &[u8]) -> Option<(&[u8], &[u8])> {
    todo!()
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
