//! What a call shows: replies on stdout, and with `-v` the talk around them on stderr.

use std::{collections::HashSet, io::Write, time::Duration};

use bytes::Bytes;
use peregrine_core::{Code, MetadataMap, Status};
use prost_reflect::{DynamicMessage, MessageDescriptor};
use tokio::sync::Mutex;

use crate::{
    connect::Connection,
    console::{Console, Output},
    exit::Exit,
    json::{
        encode::{EncodeOptions, Encoded, encode},
        write::Layout,
    },
    report::{Kind, Report, metadata_text},
    schema::source::Source,
};

/// Prints reply messages.
pub(super) struct Replies<'s> {
    source: &'s Mutex<Source>,
    output: MessageDescriptor,
    streaming: bool,
    emit_defaults: bool,
    /// What has been said about the replies already: in a stream once is enough.
    noted: HashSet<String>,
}

impl<'s> Replies<'s> {
    pub(super) fn new(
        source: &'s Mutex<Source>,
        output: MessageDescriptor,
        streaming: bool,
        emit_defaults: bool,
    ) -> Self {
        Self { source, output, streaming, emit_defaults, noted: HashSet::new() }
    }

    /// One reply: laid out for a person who reads a single one, else one line.
    pub(super) async fn print(&mut self, bytes: Bytes, console: &mut Console) -> Result<(), Report> {
        let layout =
            Layout { pretty: console.out.is_terminal() && !self.streaming, style: console.out.style() };
        let options = EncodeOptions { layout, emit_defaults: self.emit_defaults };
        let mut encoded = encode(&self.decode(&bytes)?, options);
        if self.learn_types(&encoded).await? {
            encoded = encode(&self.decode(&bytes)?, options);
        }
        writeln!(console.out, "{}", encoded.text)?;
        console.out.flush()?;
        self.note_gaps(&encoded, console)
    }

    fn decode(&self, bytes: &Bytes) -> Result<DynamicMessage, Report> {
        DynamicMessage::decode(self.output.clone(), bytes.clone()).map_err(|error| {
            let code = Code::Internal.value() as u8;
            Report::new(Kind::Call, Exit::Call(code), format!("the reply is no {}", self.output.full_name()))
                .fact("cause", error)
                .fact("size", format!("{} bytes", bytes.len()))
                .next("is the schema the one that the server uses?")
        })
    }

    /// Asks for types inside of `Any` that the schema lacks. True if there are new ones.
    async fn learn_types(&mut self, encoded: &Encoded) -> Result<bool, Report> {
        let mut learned = false;
        for name in &encoded.missing_types {
            let mut source = self.source.lock().await;
            if source.load(name).await? {
                learned = true;
                if let Some(output) = source.schema().message(self.output.full_name()) {
                    self.output = output;
                }
            }
        }
        Ok(learned)
    }

    fn note_gaps(&mut self, encoded: &Encoded, console: &mut Console) -> Result<(), Report> {
        for unknown in &encoded.unknown {
            let place =
                if unknown.path.is_empty() { "the reply".to_owned() } else { format!("`{}`", unknown.path) };
            let (number, bytes) = (unknown.number, unknown.bytes);
            if self.noted.insert(format!("{place} {number}")) {
                console.note(format_args!(
                    "{place} has a field {number} ({bytes} bytes) that the schema does not know"
                ))?;
            }
        }
        for name in &encoded.missing_types {
            if self.noted.insert(name.clone()) {
                console.note(format_args!(
                    "the schema has no message `{name}`; its bytes are shown as base64"
                ))?;
            }
        }
        Ok(())
    }
}

/// The talk of `-v`: `>` went out, `<` came in, `*` is about both.
pub(super) struct Talk<'c> {
    connection: &'c Connection,
    /// Number of `-v`.
    verbose: u8,
    first_byte: Option<Duration>,
}

impl<'c> Talk<'c> {
    pub(super) fn new(connection: &'c Connection, verbose: u8) -> Self {
        Self { connection, verbose, first_byte: None }
    }

    /// What is about to be sent.
    pub(super) fn request(&self, path: &str, err: &mut Output) -> Result<(), Report> {
        if self.verbose == 0 {
            return Ok(());
        }
        let style = err.style();
        let took = self.connection.connect_time();
        writeln!(err, "{} connected to {} in {took:.1?}", style.dim("*"), self.connection.target().uri())?;
        writeln!(err, "{} {}", style.dim(">"), style.bold(path))?;
        for (name, value) in self.connection.call_metadata() {
            let hidden = self.verbose == 1 && crate::connect::is_secret(name);
            let value = if hidden { "(hidden, -vv shows it)".to_owned() } else { metadata_text(value) };
            writeln!(err, "{} {}: {value}", style.dim(">"), style.name(name))?;
        }
        Ok(())
    }

    /// The response's headers, `after` the start of the call.
    pub(super) fn headers(
        &mut self,
        headers: &MetadataMap,
        after: Duration,
        err: &mut Output,
    ) -> Result<(), Report> {
        self.first_byte = Some(after);
        if self.verbose == 0 {
            return Ok(());
        }
        fields("headers", headers, err)
    }

    /// Trailers, status and times of a call that `took` so long.
    pub(super) fn end(
        &self,
        status: Option<&Status>,
        trailers: Option<&MetadataMap>,
        took: Duration,
        err: &mut Output,
    ) -> Result<(), Report> {
        if self.verbose == 0 {
            return Ok(());
        }
        let style = err.style();
        let none = MetadataMap::new();
        fields("trailers", trailers.or(status.map(Status::metadata)).unwrap_or(&none), err)?;
        match status {
            None => writeln!(err, "{} status {}", style.dim("*"), style.good("OK (0)"))?,
            Some(status) => {
                let text = format!("{} ({})", status.code(), status.code().value());
                writeln!(err, "{} status {}", style.dim("*"), style.error(text))?;
            }
        }
        let first = self.first_byte.map_or_else(|| "never".to_owned(), |time| format!("{time:.1?}"));
        let connect = self.connection.connect_time();
        let total = connect + took;
        writeln!(
            err,
            "{} time: connect {connect:.1?}, first byte {first}, call {took:.1?}, total {total:.1?}",
            style.dim("*")
        )?;
        Ok(())
    }
}

/// A block of metadata under its title; gRPC's own fields are not part of it.
fn fields(title: &str, fields: &MetadataMap, err: &mut Output) -> Result<(), Report> {
    let style = err.style();
    let none = if fields.is_empty() { ": none" } else { "" };
    writeln!(err, "{} {}{none}", style.dim("<"), style.bold(title))?;
    for (name, value) in fields {
        writeln!(err, "{} {}: {}", style.dim("<"), style.name(name), metadata_text(value))?;
    }
    Ok(())
}
