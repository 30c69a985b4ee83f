//! Exit codes: the one table that scripts rely on, the help prints and the tests check.
//!
//! `main` turns the [`Exit`] of a command, or that of its error report, into the process's exit code.

/// How a run of the command ended.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Exit {
    /// Everything asked for was done.
    Ok,
    /// The command worked and what it looked for is there (a service that is not serving, a generated file that is
    /// stale), or the machine it runs on refused something.
    Finding,
    /// The command line, or a file or JSON text it names, cannot be used as it is.
    Usage,
    /// No connection, or the peer does not speak gRPC.
    Connect,
    /// A call ended with this gRPC status code, which is never 0.
    Call(u8),
    /// Ended by Ctrl-C.
    Interrupted,
}

/// Failed calls end with this plus the status code, a habit that users of gRPC tools already have.
const CALL_BASE: u8 = 64;

impl Exit {
    /// The number that the operating system is given.
    pub(crate) fn code(self) -> u8 {
        match self {
            Self::Ok => 0,
            Self::Finding => 1,
            Self::Usage => 2,
            Self::Connect => 3,
            Self::Call(status) => CALL_BASE.saturating_add(status),
            Self::Interrupted => 130,
        }
    }
}

/// Printed by `peregrine --help`.
pub(crate) const TABLE: &str = "\
Exit codes:
    0  done
    1  a finding (a service that is not serving, a generated file that is stale), or this machine
       refused (a port in use, a full disk)
    2  usage: the command line, or a file or JSON text that it names, does not fit
    3  cannot connect, or the peer does not speak gRPC
   64  plus the status code of a failed call: 68 is DEADLINE_EXCEEDED (4), 69 NOT_FOUND (5),
       76 UNIMPLEMENTED (12), 78 UNAVAILABLE (14)
  130  ended by Ctrl-C

A reader that closes the pipe early (`| head`) is no error.";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_those_of_the_table() {
        assert_eq!(Exit::Ok.code(), 0);
        assert_eq!(Exit::Finding.code(), 1);
        assert_eq!(Exit::Usage.code(), 2);
        assert_eq!(Exit::Connect.code(), 3);
        assert_eq!(Exit::Interrupted.code(), 130);
        assert_eq!(Exit::Call(4).code(), 68);
        assert_eq!(Exit::Call(16).code(), 80);
        for row in ["0  done", "1  a finding", "2  usage", "3  cannot connect", "64  plus", "130  ended"] {
            assert!(TABLE.contains(row), "{row}");
        }
    }
}
