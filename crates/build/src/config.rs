//! What the generator may be told, and the builder that a build script uses.

use std::path::{Path, PathBuf};

use proc_macro2::TokenStream;
use quote::ToTokens as _;

use crate::error::{Error, Result};
use crate::{cargo, generate, source};

/// The protobuf crate that messages are generated for.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
#[non_exhaustive]
pub enum Codec {
    /// buffa: knows proto2, proto3 and editions, keeps unknown fields, has borrowed views. The default.
    #[default]
    Buffa,
    /// prost: what tonic users have; needs the feature `prost` of this crate and of `peregrine`.
    Prost,
}

impl Codec {
    /// The marker type of the facade's hidden module.
    pub(crate) fn marker(self) -> &'static str {
        match self {
            Self::Buffa => "BuffaCodec",
            Self::Prost => "ProstCodec",
        }
    }
}

/// The name of the crate, which is that of the feature too.
impl std::fmt::Display for Codec {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Buffa => "buffa",
            Self::Prost => "prost",
        })
    }
}

impl std::str::FromStr for Codec {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        match name {
            "buffa" => Ok(Self::Buffa),
            "prost" => Ok(Self::Prost),
            other => {
                Err(Error::new(format!("there is no codec {other:?}"))
                    .with_next("use \"buffa\" or \"prost\""))
            }
        }
    }
}

/// What decides the generated text.
#[derive(Clone, Debug)]
pub(crate) struct Options {
    pub(crate) codec: Codec,
    pub(crate) views: bool,
    /// Proto paths, with a dot in front, of the rpcs whose handlers take views.
    pub(crate) view_requests: Vec<String>,
    pub(crate) unknown_fields: bool,
    /// Proto path with a dot in front, Rust path.
    pub(crate) extern_paths: Vec<(String, String)>,
    pub(crate) type_attributes: Vec<(String, String)>,
    pub(crate) field_attributes: Vec<(String, String)>,
    pub(crate) build_server: bool,
    pub(crate) build_client: bool,
    pub(crate) default_unimplemented: bool,
    /// The path of the runtime module.
    pub(crate) runtime: TokenStream,
    pub(crate) name: String,
}

/// Options for compiling protos; made by [`configure`].
///
/// Each method takes and returns the whole, so that a build script is one chain that ends with
/// [`compile`](Self::compile) or [`compile_descriptor_set`](Self::compile_descriptor_set).
#[derive(Clone, Debug)]
#[must_use = "nothing happens before .compile(..)"]
pub struct Config {
    options: Options,
    includes: Vec<PathBuf>,
    out_dir: Option<PathBuf>,
    descriptor_set_out: Option<PathBuf>,
    emit_rerun: bool,
    /// What relative paths are relative to, if not the package's folder.
    base: Option<PathBuf>,
    /// An option that could not be understood; reported by the call that ends the chain.
    mistake: Option<String>,
}

/// Starts a build with options. [`compile`](crate::compile) is this without any.
///
/// ```no_run
/// fn main() -> peregrine_build::Result {
///     peregrine_build::configure().include("proto").build_client(false).compile(["proto/a.proto", "proto/b.proto"])
/// }
/// ```
pub fn configure() -> Config {
    let options = Options {
        codec: Codec::default(),
        views: false,
        view_requests: Vec::new(),
        unknown_fields: true,
        extern_paths: Vec::new(),
        type_attributes: Vec::new(),
        field_attributes: Vec::new(),
        build_server: true,
        build_client: true,
        default_unimplemented: false,
        runtime: quote::quote!(::peregrine::rt),
        name: DEFAULT_NAME.to_owned(),
    };
    Config {
        options,
        includes: Vec::new(),
        out_dir: None,
        descriptor_set_out: None,
        emit_rerun: true,
        base: None,
        mistake: None,
    }
}

/// The name of the output without `.rs`, and what `peregrine::include_proto!()` includes.
const DEFAULT_NAME: &str = "peregrine";

impl Config {
    /// Adds a folder that imports are relative to; may be given several times, the first match wins. Default: the
    /// folder of each file and those above it, up to the package's own, as far as they are needed.
    pub fn include(mut self, folder: impl Into<PathBuf>) -> Self {
        self.includes.push(folder.into());
        self
    }

    /// Adds several folders; see [`include`](Self::include).
    pub fn includes(mut self, folders: impl IntoIterator<Item = impl Into<PathBuf>>) -> Self {
        self.includes.extend(folders.into_iter().map(Into::into));
        self
    }

    /// The folder that relative paths are relative to. Default: that of the package's `Cargo.toml` in a build script
    /// or under `cargo run`, else the current one.
    pub fn relative_to(mut self, folder: impl Into<PathBuf>) -> Self {
        self.base = Some(folder.into());
        self
    }

    /// The protobuf crate to generate messages for. Default: [`Codec::Buffa`].
    pub fn codec(mut self, codec: Codec) -> Self {
        self.options.codec = codec;
        self
    }

    /// Whether to generate borrowed views (`HelloRequestView<'a>`) beside the owned messages; buffa only. Default: no.
    pub fn views(mut self, yes: bool) -> Self {
        self.options.views = yes;
        self
    }

    /// Gives the handlers of the rpcs under a proto path a `Request<View<M>>` (or a `Streaming<View<M>>`): the request
    /// message is read in place, without an allocation for each of its strings and lists. A path names a package, a
    /// service or an rpc: `view_requests("greeter.v1.Greeter.SayHello")`; `"."` is all. Includes
    /// [`views(true)`](Self::views); buffa only. Messages from an [`extern_path`](Self::extern_path) must have views
    /// as well. Clients are not changed.
    pub fn view_requests(mut self, path: impl AsRef<str>) -> Self {
        self.options.views = true;
        self.options.view_requests.push(dotted(path.as_ref()));
        self
    }

    /// Whether messages keep fields that their proto does not know and send them on; buffa only. Default: yes, so that
    /// a proxy or a store loses nothing. It costs one empty `Vec` (24 bytes) a message, and the reason for
    /// `..Default::default()` where messages are built. prost never keeps them.
    pub fn unknown_fields(mut self, keep: bool) -> Self {
        self.options.unknown_fields = keep;
        self
    }

    /// Uses an existing Rust module or type for a proto package or message instead of generating it:
    /// `extern_path("my.common", "::my_common::pb::my::common")`. The well-known types need none.
    pub fn extern_path(mut self, proto: impl AsRef<str>, rust: impl Into<String>) -> Self {
        self.options.extern_paths.push((dotted(proto.as_ref()), rust.into()));
        self
    }

    /// Adds an attribute to the messages, enums and oneofs under a proto path; `"."` is all of them:
    /// `type_attribute("my.pkg.Point", "#[derive(Copy)]")`.
    pub fn type_attribute(mut self, path: impl AsRef<str>, attribute: impl Into<String>) -> Self {
        self.options.type_attributes.push((dotted(path.as_ref()), attribute.into()));
        self
    }

    /// Adds an attribute to the fields under a proto path; `"."` is all of them.
    pub fn field_attribute(mut self, path: impl AsRef<str>, attribute: impl Into<String>) -> Self {
        self.options.field_attributes.push((dotted(path.as_ref()), attribute.into()));
        self
    }

    /// Whether to generate service traits and servers. Default: yes.
    pub fn build_server(mut self, yes: bool) -> Self {
        self.options.build_server = yes;
        self
    }

    /// Whether to generate clients. Default: yes.
    pub fn build_client(mut self, yes: bool) -> Self {
        self.options.build_client = yes;
        self
    }

    /// Whether trait methods get a body that answers UNIMPLEMENTED, so that a new rpc in the proto does not break the
    /// build of those who implement the service. Default: no; the compiler names what is missing.
    pub fn default_unimplemented(mut self, yes: bool) -> Self {
        self.options.default_unimplemented = yes;
        self
    }

    /// The name of the output file without `.rs`, for a package that compiles several independent sets:
    /// `name("admin")` goes with `peregrine::include_proto!("admin")`. Default: `peregrine`, which goes with
    /// `peregrine::include_proto!()`.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.options.name = name.into();
        let name = &self.options.name;
        if name.is_empty() || name.contains(['/', '\\']) {
            self.mistake = Some(format!("{name:?} cannot be the name of a generated file"));
        }
        self
    }

    /// Where the generated file goes. Default: the `OUT_DIR` that cargo gives to build scripts.
    pub fn out_dir(mut self, folder: impl Into<PathBuf>) -> Self {
        self.out_dir = Some(folder.into());
        self
    }

    /// Also writes the descriptor set (with imports, without source info) to this file.
    pub fn descriptor_set_out(mut self, file: impl Into<PathBuf>) -> Self {
        self.descriptor_set_out = Some(file.into());
        self
    }

    /// Whether to print `cargo::rerun-if-changed` for every file that was read. Default: yes. Without it, and if the
    /// build script prints no such line itself, cargo runs it again whenever any file of the package changes.
    pub fn emit_rerun(mut self, yes: bool) -> Self {
        self.emit_rerun = yes;
        self
    }

    /// The module that generated code finds its runtime in. Default: `::peregrine::rt`. For crates below the facade.
    #[doc(hidden)]
    pub fn runtime_path(mut self, path: &str) -> Self {
        match syn::parse_str::<syn::Path>(path) {
            Ok(path) => self.options.runtime = path.into_token_stream(),
            Err(_) => self.mistake = Some(format!("{path:?} is no path of a Rust module")),
        }
        self
    }

    /// Compiles `.proto` files and writes the generated file.
    ///
    /// # Errors
    /// When a file is missing or wrong, when names collide in Rust, or when the output cannot be written. The error's
    /// `Debug`, which a build script's `main` prints, is a report with the place in the proto.
    pub fn compile(self, files: impl ProtoFiles) -> Result {
        let files = files.into_paths();
        self.checked()?;
        let compiled = source::compile(&files, &self.includes, &self.base()?)?;
        if self.emit_rerun {
            cargo::rerun_if_changed(compiled.files_read.iter().map(|file| file.path.as_path()));
        }
        self.write(&compiled.descriptor_set).map_err(|error| shown_in_sources(error, &compiled))
    }

    /// Generates from a descriptor set in a file, as protoc and buf make it with imports and source info. This is the
    /// way for protos that use editions.
    ///
    /// # Errors
    /// As [`compile`](Self::compile).
    pub fn compile_descriptor_set(self, file: impl AsRef<Path>) -> Result {
        self.checked()?;
        let path = self.base()?.join(file);
        let set = std::fs::read(&path).map_err(|cause| Error::io("reading", &path, cause))?;
        if self.emit_rerun {
            cargo::rerun_if_changed([path.as_path()]);
        }
        self.write(&set)
    }

    /// The generated text for a descriptor set, without touching the file system.
    ///
    /// `descriptor_set` is an encoded `google.protobuf.FileDescriptorSet` that holds all imports. Source info is
    /// optional; comments come from it.
    ///
    /// # Errors
    /// When the bytes are no such set, or when names collide in Rust.
    pub fn generate(&self, descriptor_set: &[u8]) -> Result<Vec<GeneratedFile>> {
        self.checked()?;
        Ok(generate::generate(descriptor_set, &self.options)?.files)
    }

    /// The generated text for `.proto` files, and their encoded `google.protobuf.FileDescriptorSet` with all imports and
    /// source info. Writes nothing.
    ///
    /// # Errors
    /// As [`compile`](Self::compile), but for those of writing.
    pub fn generate_from(&self, files: impl ProtoFiles) -> Result<(Vec<GeneratedFile>, Vec<u8>)> {
        self.checked()?;
        let compiled = source::compile(&files.into_paths(), &self.includes, &self.base()?)?;
        let output = generate::generate(&compiled.descriptor_set, &self.options)
            .map_err(|error| shown_in_sources(error, &compiled))?;
        Ok((output.files, compiled.descriptor_set))
    }

    /// Compiles `.proto` files to an encoded `google.protobuf.FileDescriptorSet` that holds all imports and source info,
    /// and generates nothing. For tools that work with schemas at run time, and for [`generate`](Self::generate).
    ///
    /// # Errors
    /// When a file is missing or wrong.
    pub fn descriptor_set(&self, files: impl ProtoFiles) -> Result<Vec<u8>> {
        self.checked()?;
        Ok(source::compile(&files.into_paths(), &self.includes, &self.base()?)?.descriptor_set)
    }

    fn base(&self) -> Result<PathBuf> {
        self.base.clone().map_or_else(cargo::package_folder, Ok)
    }

    fn checked(&self) -> Result {
        if let Some(mistake) = &self.mistake {
            return Err(Error::new(mistake));
        }
        if self.options.views && self.options.codec != Codec::Buffa {
            let codec = self.options.codec;
            return Err(Error::new(format!("{codec} has no views"))
                .with_next("use the codec buffa, or leave out views and view_requests"));
        }
        Ok(())
    }

    fn write(&self, descriptor_set: &[u8]) -> Result {
        let output = generate::generate(descriptor_set, &self.options)?;
        cargo::warn(&output.warnings);
        let folder = match &self.out_dir {
            Some(folder) => self.base()?.join(folder),
            None => cargo::out_dir()?,
        };
        for file in &output.files {
            let path = folder.join(&file.name);
            cargo::claim(&path, &self.options.name)?;
            cargo::write_if_changed(&path, file.content.as_bytes())?;
        }
        if let Some(path) = &self.descriptor_set_out {
            cargo::write_if_changed(&self.base()?.join(path), &output.descriptor_set)?;
        }
        Ok(())
    }
}

/// What is wrong for Rust only is found in the descriptors, which know lines but not their text.
fn shown_in_sources(error: Error, compiled: &source::Compiled) -> Error {
    error.with_sources(|name| {
        let file = compiled.files_read.iter().find(|file| file.name == name)?;
        Some((file.shown.as_str(), file.text.as_str()))
    })
}

/// A file that the generator made.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct GeneratedFile {
    /// Its name, without a folder: `peregrine.rs`.
    pub name: String,
    /// Its text.
    pub content: String,
}

/// One path or several, as [`compile`](crate::compile) takes them.
pub trait ProtoFiles {
    /// The paths, relative to the package's folder unless absolute.
    fn into_paths(self) -> Vec<PathBuf>;
}

macro_rules! one_path {
    ($($path:ty),*) => {$(
        impl ProtoFiles for $path {
            fn into_paths(self) -> Vec<PathBuf> {
                vec![self.into()]
            }
        }
    )*};
}
one_path!(&str, String, &String, &Path, PathBuf);

macro_rules! several_paths {
    ($([$($generics:tt)*] $paths:ty),* $(,)?) => {$(
        impl<P: Into<PathBuf>, $($generics)*> ProtoFiles for $paths {
            fn into_paths(self) -> Vec<PathBuf> {
                self.into_iter().map(Into::into).collect()
            }
        }
    )*};
}
several_paths!([const N: usize] [P; N], [] Vec<P>);

impl<P: Clone + Into<PathBuf>> ProtoFiles for &[P] {
    fn into_paths(self) -> Vec<PathBuf> {
        self.iter().cloned().map(Into::into).collect()
    }
}

/// A proto path with the dot in front that both code generators want.
fn dotted(path: &str) -> String {
    if path.starts_with('.') { path.to_owned() } else { format!(".{path}") }
}
