//! The demo's page: what each call sent and received, how long it took, and what to try next.

use std::{
    io::{self, Write},
    path::Path,
    time::Duration,
};

use serde_json::json;

use super::tour::{Line, Step};
use crate::console::Output;

/// What the page is about.
pub(super) struct Page<'p> {
    /// `127.0.0.1:PORT` of the server.
    pub(super) address: &'p str,
    /// The second port, if there is one.
    pub(super) tls: Option<Protected<'p>>,
    /// The server ends with the page.
    pub(super) once: bool,
    /// How the user starts this command.
    pub(super) program: &'p str,
}

/// The port with TLS.
pub(super) struct Protected<'p> {
    pub(super) port: u16,
    /// The file of the authority to trust.
    pub(super) authority: &'p Path,
}

impl Page<'_> {
    pub(super) fn print(&self, steps: &[Step], out: &mut Output) -> io::Result<()> {
        let style = out.style();
        writeln!(out, "{} at {}, with health and reflection", style.bold("demo.v1.Demo"), self.address)?;
        if let Some(tls) = &self.tls {
            let authority = tls.authority.display();
            writeln!(out, "also over TLS at 127.0.0.1:{}, to those who trust {authority}", tls.port)?;
        }
        for step in steps {
            print_step(step, out)?;
        }
        let mut address = self.address.replace("127.0.0.1", "localhost");
        let program = self.program;
        if self.once {
            "localhost:50051".clone_into(&mut address);
            writeln!(out, "\n{}", style.bold("Start it to stay:"))?;
            writeln!(out, "  {}", style.name(format_args!("{program} demo")))?;
        }
        writeln!(out, "\n{}", style.bold("Try from another terminal:"))?;
        for line in lines_to_try(program, &address) {
            writeln!(out, "  {}", style.name(line))?;
        }
        if let Some(Protected { port, authority }) = &self.tls {
            let line = format!(
                "{program} call https://localhost:{port} demo.v1.Demo/Greet -d '{{\"name\": \"Ada\"}}' --cacert {}",
                authority.display()
            );
            writeln!(out, "  {}", style.name(line))?;
        }
        if !self.once {
            writeln!(out, "\n{}", style.dim("Ctrl-C ends the server."))?;
        }
        Ok(())
    }
}

/// One call: its name, shape and time on a line, its messages below, in the order in which they passed.
fn print_step(step: &Step, out: &mut Output) -> io::Result<()> {
    let style = out.style();
    let method = style.bold(step.method);
    let shape = style.dim(step.shape);
    writeln!(out, "\n{method:<10}  {shape:<16}  {:>9}", milliseconds(step.took))?;
    for line in &step.lines {
        match line {
            Line::Sent(json) => writeln!(out, "  {} {json}", style.notice("sent    "))?,
            Line::Received(json) => writeln!(out, "  {} {json}", style.good("received"))?,
        }
    }
    Ok(())
}

/// The same as data, one call a line.
pub(super) fn json(steps: &[Step], out: &mut Output) -> io::Result<()> {
    for step in steps {
        let messages: Vec<_> = step
            .lines
            .iter()
            .map(|line| match line {
                Line::Sent(json) => json!({"sent": parsed(json)}),
                Line::Received(json) => json!({"received": parsed(json)}),
            })
            .collect();
        let line = json!({
            "method": step.method,
            "shape": step.shape,
            "messages": messages,
            "seconds": step.took.as_secs_f64(),
        });
        writeln!(out, "{line}")?;
    }
    Ok(())
}

fn parsed(json: &str) -> serde_json::Value {
    serde_json::from_str(json).unwrap_or_else(|_| json.into())
}

fn milliseconds(time: Duration) -> String {
    format!("{:.2} ms", time.as_secs_f64() * 1e3)
}

fn lines_to_try(program: &str, address: &str) -> Vec<String> {
    [
        format!("{program} call {address}"),
        format!("{program} call {address} demo.v1.Demo/Greet -d '{{\"name\": \"Ada\"}}' -v"),
        format!("{program} call {address} demo.v1.Demo/Countdown -d '{{\"from\": 5, \"pauseMs\": 300}}'"),
        format!("echo '{{\"text\": \"hello\"}} {{\"text\": \"bye\"}}' | {program} call {address} demo.v1.Demo/Chat -d @"),
        format!("{program} describe {address} demo.v1.Demo"),
        format!("{program} health {address}"),
        format!("grpcurl -plaintext -d '{{\"name\": \"Ada\"}}' {address} demo.v1.Demo/Greet"),
    ]
    .into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::console::testing::captured;

    fn steps() -> [Step; 1] {
        [Step {
            method: "Greet",
            shape: "unary",
            lines: vec![
                Line::Sent("{\"name\":\"Ada\"}".into()),
                Line::Received("{\"message\":\"x\"}".into()),
            ],
            took: Duration::from_micros(1234),
        }]
    }

    #[test]
    fn the_page_shows_messages_time_and_what_to_try() {
        let (mut console, out, _) = captured();
        let tls = Protected { port: 8, authority: Path::new("/tmp/a.pem") };
        let page =
            Page { address: "127.0.0.1:7", tls: Some(tls), once: false, program: "target/release/peregrine" };
        page.print(&steps(), &mut console.out).unwrap();
        let text = out.text();
        assert!(text.contains("Greet       unary               1.23 ms\n"), "{text}");
        assert!(text.contains("  sent     {\"name\":\"Ada\"}\n  received {\"message\":\"x\"}\n"), "{text}");
        assert!(text.contains("  target/release/peregrine call localhost:7 demo.v1.Demo/Greet"), "{text}");
        assert!(text.contains("grpcurl -plaintext"), "{text}");
        assert!(text.contains("also over TLS at 127.0.0.1:8, to those who trust /tmp/a.pem\n"), "{text}");
        assert!(text.contains("call https://localhost:8 demo.v1.Demo/Greet"), "{text}");
    }

    #[test]
    fn json_has_the_messages_as_values() {
        let (mut console, out, _) = captured();
        json(&steps(), &mut console.out).unwrap();
        let line: serde_json::Value = serde_json::from_str(&out.text()).unwrap();
        assert_eq!(line["messages"][0]["sent"]["name"], "Ada");
    }
}
