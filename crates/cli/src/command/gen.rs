//! `peregrine gen`: Rust code from .proto files, checked-in output kept fresh, and the protoc plug-in.

use std::{
    ffi::OsString,
    fs,
    io::{Read, Write},
    path::{Path, PathBuf},
};

use crate::{
    args::{CodecChoice, GenArgs},
    console::Console,
    exit::Exit,
    report::Report,
    schema::files::build_report,
};

/// The name under which protoc and buf start the plug-in.
const PLUGIN_NAME: &str = "protoc-gen-peregrine";

/// The command line to read: as it is, or `gen --plugin` when the program was started by the plug-in's name.
pub(crate) fn arguments(arguments: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let arguments: Vec<OsString> = arguments.collect();
    let is_plugin = arguments
        .first()
        .and_then(|program| Path::new(program).file_stem())
        .is_some_and(|name| name == PLUGIN_NAME);
    if is_plugin { ["peregrine", "gen", "--plugin"].map(OsString::from).to_vec() } else { arguments }
}

pub(super) fn run(args: &GenArgs, console: &mut Console) -> Result<Exit, Report> {
    if args.plugin {
        return plugin(console);
    }
    let config = config(args)?;
    let (generated, descriptor_set) = match &args.from_descriptor_set {
        Some(path) => {
            let set = fs::read(path).map_err(|error| {
                Report::input(format!("cannot read `{}`", path.display())).fact("cause", error)
            })?;
            (config.generate(&set).map_err(|error| build_report(&error))?, set)
        }
        None => config.generate_from(args.protos.as_slice()).map_err(|error| build_report(&error))?,
    };
    let mut outputs: Vec<(PathBuf, Vec<u8>)> =
        generated.into_iter().map(|file| (args.out.join(file.name), file.content.into_bytes())).collect();
    outputs.extend(args.descriptor_set.clone().map(|path| (path, descriptor_set)));
    if args.check { check(&outputs, console) } else { write(&outputs, console) }
}

fn config(args: &GenArgs) -> Result<peregrine_build::Config, Report> {
    let codec = match args.codec {
        CodecChoice::Buffa => peregrine_build::Codec::Buffa,
        CodecChoice::Prost => peregrine_build::Codec::Prost,
    };
    let folder = std::env::current_dir()
        .map_err(|error| Report::system("there is no current folder").fact("cause", error))?;
    let mut config = peregrine_build::configure()
        .relative_to(folder)
        .codec(codec)
        .name(&args.name)
        .includes(&args.import_path)
        .views(args.views)
        .unknown_fields(!args.no_unknown_fields)
        .build_server(!args.no_server)
        .build_client(!args.no_client)
        .default_unimplemented(args.default_unimplemented);
    for path in &args.view_requests {
        config = config.view_requests(path);
    }
    for (proto, rust) in &args.extern_path {
        config = config.extern_path(proto, rust);
    }
    for (path, attribute) in &args.type_attribute {
        config = config.type_attribute(path, attribute);
    }
    for (path, attribute) in &args.field_attribute {
        config = config.field_attribute(path, attribute);
    }
    Ok(config)
}

/// Writes what has changed and names it.
fn write(outputs: &[(PathBuf, Vec<u8>)], console: &mut Console) -> Result<Exit, Report> {
    for (path, content) in outputs {
        if fs::read(path).is_ok_and(|existing| existing == *content) {
            writeln!(console.err, "unchanged {}", path.display())?;
            continue;
        }
        let written = match path.parent() {
            Some(folder) => fs::create_dir_all(folder).and_then(|()| fs::write(path, content)),
            None => fs::write(path, content),
        };
        written.map_err(|error| {
            Report::system(format!("cannot write `{}`", path.display())).fact("cause", error)
        })?;
        writeln!(console.err, "wrote {}", path.display())?;
    }
    Ok(Exit::Ok)
}

/// Names what is missing or stale, one path a line.
fn check(outputs: &[(PathBuf, Vec<u8>)], console: &mut Console) -> Result<Exit, Report> {
    let mut exit = Exit::Ok;
    for (path, content) in outputs {
        let state = match fs::read(path) {
            Ok(existing) if existing == *content => continue,
            Ok(_) => "stale",
            Err(_) => "missing",
        };
        exit = Exit::Finding;
        writeln!(console.out, "{state} {}", path.display())?;
    }
    if exit == Exit::Finding {
        writeln!(console.err, "run the same command without --check to write them")?;
    }
    Ok(exit)
}

/// protoc's side of the conversation is stdin and stdout; mistakes in protos travel inside of the response.
fn plugin(console: &mut Console) -> Result<Exit, Report> {
    let mut request = Vec::new();
    std::io::stdin()
        .read_to_end(&mut request)
        .map_err(|error| Report::input("cannot read stdin").fact("cause", error))?;
    let response = peregrine_build::plugin::run(&request).map_err(|error| build_report(&error))?;
    console.out.write_all(&response)?;
    Ok(Exit::Ok)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arguments_of(line: &[&str]) -> Vec<OsString> {
        arguments(line.iter().map(OsString::from))
    }

    #[test]
    fn the_name_of_the_plug_in_is_a_command_line() {
        let plugin = ["peregrine", "gen", "--plugin"].map(OsString::from);
        assert_eq!(arguments_of(&["/usr/bin/protoc-gen-peregrine"]), plugin);
        assert_eq!(arguments_of(&["protoc-gen-peregrine.exe"]), plugin);
        assert_eq!(arguments_of(&["peregrine", "list"]), ["peregrine", "list"]);
    }
}
