//! Where a command writes: stdout for data, stderr for talk, each with its own idea of colour.
//!
//! Made once by `main` for the real streams; tests make one over buffers and read what was written.

use std::io::{self, IsTerminal, Write};

use crate::{args::OutputFormat, style::Style};

/// The two outputs of a command.
pub(crate) struct Console {
    /// Data only, so that a pipe gets clean JSON or text.
    pub(crate) out: Output,
    /// Everything said to a person: headers, notes, errors.
    pub(crate) err: Output,
    /// How notes and errors are written.
    pub(crate) format: OutputFormat,
}

impl Console {
    /// The process's own streams. Colour goes to a terminal only, and neither with `--no-color` nor when
    /// `NO_COLOR` is set to anything.
    pub(crate) fn of_process(no_color: bool, format: OutputFormat) -> Self {
        let allowed = !no_color && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
        let (out, err) = (io::stdout(), io::stderr());
        let (out_terminal, err_terminal) = (out.is_terminal(), err.is_terminal());
        Self {
            out: Output::new(Box::new(out), out_terminal, allowed && out_terminal),
            err: Output::new(Box::new(err), err_terminal, allowed && err_terminal),
            format,
        }
    }

    /// Says something on the side.
    pub(crate) fn note(&mut self, text: impl std::fmt::Display) -> io::Result<()> {
        match self.format {
            OutputFormat::Text => writeln!(self.err, "note: {text}"),
            OutputFormat::Json => writeln!(self.err, "{}", serde_json::json!({"note": text.to_string()})),
        }
    }
}

/// One output stream.
pub(crate) struct Output {
    writer: Box<dyn Write>,
    terminal: bool,
    style: Style,
}

impl Output {
    /// `terminal`: a person reads along, so lines may be laid out for eyes. `colour`: escape sequences may be
    /// written.
    pub(crate) fn new(writer: Box<dyn Write>, terminal: bool, colour: bool) -> Self {
        Self { writer, terminal, style: Style::new(colour) }
    }

    /// Whether a person looks at this output as it appears.
    pub(crate) fn is_terminal(&self) -> bool {
        self.terminal
    }

    /// The colours to use on this output; a plain value, so that it can be held while writing.
    pub(crate) fn style(&self) -> Style {
        self.style
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.writer.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer.flush()
    }
}

#[cfg(test)]
pub(crate) mod testing {
    use std::{cell::RefCell, rc::Rc};

    use super::*;

    /// A buffer that is written through one handle and read through another.
    #[derive(Clone, Default)]
    pub(crate) struct Captured(Rc<RefCell<Vec<u8>>>);

    impl Captured {
        pub(crate) fn text(&self) -> String {
            String::from_utf8(self.0.borrow().clone()).unwrap()
        }
    }

    impl Write for Captured {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.borrow_mut().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// A console that is no terminal, with the captured stdout and stderr.
    pub(crate) fn captured() -> (Console, Captured, Captured) {
        let (out, err) = (Captured::default(), Captured::default());
        let console = Console {
            out: Output::new(Box::new(out.clone()), false, false),
            err: Output::new(Box::new(err.clone()), false, false),
            format: OutputFormat::Text,
        };
        (console, out, err)
    }
}
