//! What the clients did, and what of it was wrong.

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

use peregrine_testkit::peer::Fields;

use crate::Case;

/// Shared by all connections.
#[derive(Debug, Default)]
pub(crate) struct Judge {
    record: Mutex<Record>,
}

#[derive(Debug, Default)]
struct Record {
    faults: BTreeSet<String>,
    connections: usize,
    /// The connection of each complete request.
    calls: Vec<usize>,
    /// The flags that messages had (wire-rules 29, 31).
    flags: BTreeSet<u8>,
}

impl Judge {
    pub(crate) fn next_connection(&self) -> usize {
        let mut record = self.record();
        record.connections += 1;
        record.connections
    }

    pub(crate) fn blame(&self, fault: impl Into<String>) {
        self.record().faults.insert(fault.into());
    }

    pub(crate) fn on_call(&self, connection: usize) {
        self.record().calls.push(connection);
    }

    pub(crate) fn on_message(&self, flag: u8) {
        self.record().flags.insert(flag);
    }

    /// Looks at the head of a request: what every gRPC request has to have, in the order it has to have it
    /// (wire-rules 1, 2, 6, 8, 12).
    pub(crate) fn on_head(&self, head: &Fields) {
        let names: Vec<&str> = head.iter().map(|(name, _)| name.as_str()).collect();
        let pseudo: BTreeSet<&str> = names.iter().copied().filter(|name| name.starts_with(':')).collect();
        let first: BTreeSet<&str> = names.iter().copied().take(pseudo.len()).collect();
        if pseudo != first || pseudo != BTreeSet::from([":authority", ":method", ":path", ":scheme"]) {
            self.blame(format!("pseudo-header fields are wrong or not first: {names:?}"));
        }
        for (name, wanted) in [(":method", "POST"), (":scheme", "http"), ("te", "trailers")] {
            let found = value(head, name);
            if found.as_deref() != Some(wanted) {
                self.blame(format!("{name} is {found:?}, not {wanted}"));
            }
        }
        let content_type = value(head, "content-type").unwrap_or_default();
        if !content_type.starts_with("application/grpc") {
            self.blame(format!("content-type is {content_type:?}"));
        }
        if value(head, "user-agent").is_none() {
            self.blame("there is no user-agent");
        }
        if let Some(timeout) = value(head, "grpc-timeout").filter(|timeout| !is_timeout(timeout)) {
            self.blame(format!("grpc-timeout is {timeout:?}"));
        }
    }

    /// All that was wrong, in the light of what the case expects.
    pub(crate) fn verdict(&self, case: Case, name: &str) -> Vec<String> {
        let record = self.record();
        let mut faults: Vec<String> = record.faults.iter().cloned().collect();
        let calls = &record.calls;
        match case {
            _ if calls.is_empty() => faults.push("no call was made".to_owned()),
            Case::GoAway if calls[..] != [1, 2] => {
                faults.push(format!("two calls were expected, on two connections, not on {calls:?}"));
            }
            // Once a response has begun nobody may try again behind the caller's back.
            Case::RstAfterHeader | Case::RstDuringData | Case::RstAfterData if calls.len() != 1 => {
                faults.push(format!("one call was expected, not {}", calls.len()));
            }
            _ => {}
        }
        if name.starts_with("client_compressed") && record.flags != BTreeSet::from([0, 1]) {
            faults.push(format!("messages had the flags {:?}, not 0 and 1", record.flags));
        }
        faults
    }

    fn record(&self) -> MutexGuard<'_, Record> {
        self.record.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The first value of a field, as text.
pub(crate) fn value(head: &Fields, name: &str) -> Option<String> {
    let (_, value) = head.iter().find(|(other, _)| other == name)?;
    Some(String::from_utf8_lossy(value).into_owned())
}

/// One to eight digits and a unit (wire-rules 13).
fn is_timeout(text: &str) -> bool {
    let Some((digits, unit)) = text.split_at_checked(text.len().saturating_sub(1)) else { return false };
    matches!(digits.len(), 1..=8)
        && digits.bytes().all(|byte| byte.is_ascii_digit())
        && matches!(unit, "H" | "M" | "S" | "m" | "u" | "n")
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;

    fn head(more: &[(&str, &str)]) -> Fields {
        let fields = [
            (":method", "POST"),
            (":scheme", "http"),
            (":path", "/s/m"),
            (":authority", "a"),
            ("te", "trailers"),
            ("content-type", "application/grpc"),
            ("user-agent", "u"),
        ];
        let fields = fields.iter().chain(more);
        fields.map(|(name, value)| ((*name).to_owned(), Bytes::copy_from_slice(value.as_bytes()))).collect()
    }

    fn faults(head: &Fields) -> usize {
        let judge = Judge::default();
        judge.on_head(head);
        judge.on_call(1);
        judge.verdict(Case::Orderly, "").len()
    }

    #[test]
    fn a_good_head_is_good_and_each_fault_is_seen() {
        assert_eq!(faults(&head(&[("grpc-timeout", "1S")])), 0);
        assert_eq!(faults(&head(&[("grpc-timeout", "123456789S")])), 1);
        assert_eq!(faults(&head(&[("grpc-timeout", "S")])), 1);
        assert_eq!(faults(&head(&[(":late", "1")])), 1);
        for index in 0..7 {
            let mut without = head(&[]);
            without.remove(index);
            assert_ne!(faults(&without), 0, "{without:?}");
        }
    }

    #[test]
    fn the_case_decides_which_calls_are_right() {
        let judged = |case, calls: &[usize]| {
            let judge = Judge::default();
            for &call in calls {
                judge.on_call(call);
            }
            judge.verdict(case, "").len()
        };
        assert_eq!((judged(Case::GoAway, &[1, 2]), judged(Case::GoAway, &[1, 1])), (0, 1));
        assert_eq!((judged(Case::RstDuringData, &[1]), judged(Case::RstDuringData, &[1, 1])), (0, 1));
        assert_eq!((judged(Case::Orderly, &[1, 1]), judged(Case::Orderly, &[])), (0, 1));
    }
}
