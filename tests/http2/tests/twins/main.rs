//! What h2spec asks, with the exact answer.
//!
//! The public suite takes any close, and mostly any error code, for the right answer. Here every case of it (version
//! 2.2.1, strict: 146 for a server, 57 for a client) is sent to the same programs' endpoints, by the same driver, and
//! the whole answer is compared: which frames come, with which code, for which stream, and whether the connection
//! lives on. Ids are the suite's own: section and number. What newer versions of the suite ask, what it asks wrongly
//! and what it forgets is in [`beyond`].

mod beyond;
mod client_cases;
mod exchange;
mod octets;
mod server_cases;

use self::exchange::{Case, Half};

/// Cases in each section of the suite's server half.
const SERVER_SECTIONS: [(&str, usize); 49] = [
    ("generic/1", 1),
    ("generic/2", 5),
    ("generic/3.1", 3),
    ("generic/3.2", 3),
    ("generic/3.3", 5),
    ("generic/3.4", 1),
    ("generic/3.5", 1),
    ("generic/3.7", 1),
    ("generic/3.8", 1),
    ("generic/3.9", 2),
    ("generic/3.10", 2),
    ("generic/4", 4),
    ("generic/5", 15),
    ("http2/3.5", 2),
    ("http2/4.1", 3),
    ("http2/4.2", 3),
    ("http2/4.3", 3),
    ("http2/5.1", 13),
    ("http2/5.1.1", 2),
    ("http2/5.1.2", 1),
    ("http2/5.3.1", 2),
    ("http2/5.4.1", 2),
    ("http2/5.5", 2),
    ("http2/6.1", 3),
    ("http2/6.2", 4),
    ("http2/6.3", 2),
    ("http2/6.4", 3),
    ("http2/6.5", 3),
    ("http2/6.5.2", 5),
    ("http2/6.5.3", 2),
    ("http2/6.7", 4),
    ("http2/6.8", 1),
    ("http2/6.9", 3),
    ("http2/6.9.1", 3),
    ("http2/6.9.2", 3),
    ("http2/6.10", 6),
    ("http2/7", 2),
    ("http2/8.1", 1),
    ("http2/8.1.2", 1),
    ("http2/8.1.2.1", 4),
    ("http2/8.1.2.2", 2),
    ("http2/8.1.2.3", 7),
    ("http2/8.1.2.6", 2),
    ("http2/8.2", 1),
    ("hpack/2.3.3", 1),
    ("hpack/4.2", 1),
    ("hpack/5.2", 3),
    ("hpack/6.1", 1),
    ("hpack/6.3", 1),
];

/// Cases in each section of the suite's client half.
const CLIENT_SECTIONS: [(&str, usize); 20] = [
    ("client/1", 1),
    ("client/4.1", 3),
    ("client/4.2", 3),
    ("client/4.3", 1),
    ("client/5.1", 10),
    ("client/5.1.1", 1),
    ("client/5.4.1", 2),
    ("client/5.5", 1),
    ("client/6.1", 3),
    ("client/6.2", 3),
    ("client/6.3", 2),
    ("client/6.4", 3),
    ("client/6.5", 3),
    ("client/6.5.2", 4),
    ("client/6.5.3", 1),
    ("client/6.7", 4),
    ("client/6.8", 1),
    ("client/6.9", 3),
    ("client/6.9.1", 2),
    ("client/6.10", 6),
];

#[test]
fn a_server_answers_every_case_of_the_suite_exactly() {
    check(Half::Server, &server_cases::cases(), &SERVER_SECTIONS, 146);
}

#[test]
fn a_client_answers_every_case_of_the_suite_exactly() {
    check(Half::Client, &client_cases::cases(), &CLIENT_SECTIONS, 57);
}

#[test]
fn a_server_answers_what_the_suite_leaves_out() {
    exchange::check(Half::Server, &beyond::server_cases());
}

#[test]
fn a_client_answers_what_the_suite_leaves_out() {
    exchange::check(Half::Client, &beyond::client_cases());
}

/// Every id of the suite has its case, and every case passes.
fn check(half: Half, cases: &[Case], sections: &[(&str, usize)], total: usize) {
    assert_eq!(sections.iter().map(|(_, count)| count).sum::<usize>(), total);
    let mut missing = Vec::new();
    let mut ids: Vec<&str> = cases.iter().flat_map(Case::ids).collect();
    for (section, count) in sections {
        for number in 1..=*count {
            let id = format!("{section}/{number}");
            match ids.iter().position(|&other| other == id) {
                Some(place) => drop(ids.swap_remove(place)),
                None => missing.push(id),
            }
        }
    }
    assert!(missing.is_empty() && ids.is_empty(), "no case for {missing:?}; no such id: {ids:?}");
    exchange::check(half, cases);
}
