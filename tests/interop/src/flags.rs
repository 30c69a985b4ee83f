//! The official flags: `--name=value`, or `--name value`; booleans are `true` or `false`.
//!
//! The programs of other stacks are started by one script, so every flag of the suite is known here; those of
//! features that are still to come are refused when they ask for something.

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};

/// The flags of one command line.
#[derive(Debug)]
pub struct Flags {
    values: BTreeMap<String, String>,
}

impl Flags {
    /// Reads the words behind the program's name.
    ///
    /// # Errors
    /// A word that is no flag, a flag that is not in `known`, or one without its value.
    pub fn parse(words: impl IntoIterator<Item = String>, known: &[&str]) -> Result<Self> {
        let mut words = words.into_iter();
        let mut values = BTreeMap::new();
        while let Some(word) = words.next() {
            let Some(flag) = word.strip_prefix("--").or_else(|| word.strip_prefix('-')) else {
                bail!("{word} is no flag; flags are --name=value");
            };
            let (name, value) = match flag.split_once('=') {
                Some((name, value)) => (name.to_owned(), value.to_owned()),
                None => (flag.to_owned(), words.next().with_context(|| format!("--{flag} wants a value"))?),
            };
            if !known.contains(&name.as_str()) {
                bail!("unknown flag --{name}; known: --{}", known.join(", --"));
            }
            values.insert(name, value);
        }
        Ok(Self { values })
    }

    /// The text of a flag, if it was given and is not empty.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.values.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }

    /// The number of a flag, or `default`.
    ///
    /// # Errors
    /// Text that is no number.
    pub fn number(&self, name: &str, default: u64) -> Result<u64> {
        match self.text(name) {
            Some(text) => text.parse().with_context(|| format!("--{name} wants a number, not {text}")),
            None => Ok(default),
        }
    }

    /// Whether a flag is `true`.
    ///
    /// # Errors
    /// Text that is neither `true` nor `false`.
    pub fn is_set(&self, name: &str) -> Result<bool> {
        match self.text(name) {
            None | Some("false") => Ok(false),
            Some("true") => Ok(true),
            Some(other) => bail!("--{name} is true or false, not {other}"),
        }
    }

    /// The file that flag `name` gives, or `default` in the folder `$GRPC_TEST_CERTS`.
    ///
    /// # Errors
    /// Neither is set.
    pub fn file(&self, name: &str, default: &str) -> Result<PathBuf> {
        match (self.text(name), std::env::var_os("GRPC_TEST_CERTS")) {
            (Some(path), _) => Ok(path.into()),
            (None, Some(folder)) => Ok(PathBuf::from(folder).join(default)),
            (None, None) => {
                bail!("give --{name}, or the folder of the test certificates in $GRPC_TEST_CERTS")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Flags> {
        Flags::parse(line.split_whitespace().map(str::to_owned), &["port", "use_tls", "test_case"])
    }

    #[test]
    fn both_spellings_of_a_value_are_read() {
        let flags = parse("--port=10 --test_case empty_unary -use_tls=false").unwrap();
        assert_eq!(flags.number("port", 0).unwrap(), 10);
        assert_eq!(flags.text("test_case"), Some("empty_unary"));
        assert!(!flags.is_set("use_tls").unwrap());
    }

    #[test]
    fn mistakes_are_named() {
        assert!(parse("--port").unwrap_err().to_string().contains("wants a value"));
        assert!(parse("--prot=1").unwrap_err().to_string().contains("unknown flag --prot"));
        assert!(parse("port=1").unwrap_err().to_string().contains("no flag"));
        assert!(parse("--port=x").unwrap().number("port", 1).is_err());
        assert!(parse("--use_tls=yes").unwrap().is_set("use_tls").is_err());
        assert!(parse("--port=1").unwrap().file("port", "x").is_ok());
    }
}
