//! The official command-line flags: `--name=value`, with defaults where the specification has them.

use std::collections::HashMap;
use std::str::FromStr;

/// Flags by name.
#[derive(Debug)]
pub struct Flags(HashMap<String, String>);

impl Flags {
    /// Reads the program's arguments; a malformed one ends the program.
    pub fn from_args() -> Result<Self, String> {
        let mut flags = HashMap::new();
        for argument in std::env::args().skip(1) {
            let flag = argument.strip_prefix("--").and_then(|flag| flag.split_once('='));
            let (name, value) = flag.ok_or(format!("`{argument}` is not of the form --name=value"))?;
            flags.insert(name.to_owned(), value.to_owned());
        }
        if flags.get("use_tls").is_some_and(|value| value != "false") {
            return Err("these programs speak plaintext only: --use_tls=false".to_owned());
        }
        Ok(Self(flags))
    }

    /// The flag's value, or `default` if it was not given.
    pub fn get<T: FromStr>(&self, name: &str, default: T) -> Result<T, String> {
        let Some(text) = self.0.get(name) else { return Ok(default) };
        text.parse().map_err(|_| format!("--{name}={text} does not parse"))
    }
}
