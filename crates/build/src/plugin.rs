//! The protocol of protoc and buf plug-ins.
//!
//! protoc starts a plug-in, writes a `CodeGeneratorRequest` to its standard input and reads a `CodeGeneratorResponse`
//! from its standard output. [`run`] is what lies between the two; the command line calls it. The output is one file
//! that holds everything, imports included, so with buf set `strategy: all`.

use prost::Message as _;
use prost_types::compiler::code_generator_response::{Feature, File};
use prost_types::compiler::{CodeGeneratorRequest, CodeGeneratorResponse};

use crate::config::{Codec, Config, configure};
use crate::descriptor;
use crate::error::{Error, Result};

/// Answers an encoded `CodeGeneratorRequest` with an encoded `CodeGeneratorResponse`.
///
/// Options come in the request's parameter, separated by commas: `codec=prost`, `name=admin`, `views`,
/// `view_requests=my.pkg.Service`, `no_unknown_fields`, `no_server`, `no_client`, `default_unimplemented`,
/// `extern_path=.my.pkg=::my_crate::pkg`.
/// Mistakes in protos and options are reported inside the response, as the protocol wants it.
///
/// # Errors
/// When the request itself cannot be decoded: then protoc and this code do not speak the same protocol.
pub fn run(request: &[u8]) -> Result<Vec<u8>> {
    let bytes = request;
    let request = CodeGeneratorRequest::decode(bytes).map_err(|cause| {
        Error::new(format!("this is no request of protoc: {cause}"))
            .with_next("plug-ins are started by protoc or buf, not by hand")
            .with_cause(cause)
    })?;
    let features = Feature::Proto3Optional as u64 | SUPPORTS_EDITIONS;
    let mut response =
        CodeGeneratorResponse { supported_features: Some(features), ..CodeGeneratorResponse::default() };
    match generate(&request, &descriptor::set_of_request(bytes)) {
        Ok(files) => response.file = files,
        Err(error) => response.error = Some(format!("{error:?}")),
    }
    let mut response = response.encode_to_vec();
    response.extend_from_slice(EDITIONS);
    Ok(response)
}

/// `FEATURE_SUPPORTS_EDITIONS`, and the fields `minimum_edition` (proto2) and `maximum_edition` (2024) that belong to it:
/// newer than the types at hand.
const SUPPORTS_EDITIONS: u64 = 2;
const EDITIONS: &[u8] = b"\x18\xe6\x07\x20\xe9\x07";

fn generate(request: &CodeGeneratorRequest, descriptor_set: &[u8]) -> Result<Vec<File>> {
    let config = parse_parameter(request.parameter())?;
    let files = config.generate(descriptor_set)?;
    Ok(files
        .into_iter()
        .map(|file| File { name: Some(file.name), content: Some(file.content), ..File::default() })
        .collect())
}

fn parse_parameter(parameter: &str) -> Result<Config> {
    let mut config = configure();
    for option in parameter.split(',').map(str::trim).filter(|option| !option.is_empty()) {
        config = match option.split_once('=') {
            Some(("codec", name)) => config.codec(name.parse::<Codec>()?),
            Some(("name", name)) => config.name(name),
            Some(("extern_path", mapping)) => {
                let (proto, rust) = mapping.split_once('=').ok_or_else(|| unknown(option))?;
                config.extern_path(proto, rust)
            }
            Some(("view_requests", path)) => config.view_requests(path),
            None if option == "views" => config.views(true),
            None if option == "no_unknown_fields" => config.unknown_fields(false),
            None if option == "no_server" => config.build_server(false),
            None if option == "no_client" => config.build_client(false),
            None if option == "default_unimplemented" => config.default_unimplemented(true),
            _ => return Err(unknown(option)),
        };
    }
    Ok(config)
}

fn unknown(option: &str) -> Error {
    Error::new(format!("the option {option:?} is not understood")).with_next(
        "options are codec=, name=, extern_path=PROTO=RUST, views, view_requests=PATH, no_unknown_fields, no_server, \
         no_client and default_unimplemented, separated by commas",
    )
}
