//! Nothing in the tree depends on one person's machine: no path into a private folder, no address that
//! other readers cannot reach.

use std::net::IpAddr;
use std::path::Path;

use super::{Finding, Project};

/// Folders at the root of a file system that belong to a person or to one machine.
const PRIVATE: [&str; 8] = ["home", "root", "work", "Users", "mnt", "srv", "farm", "private"];

/// Public hosts that texts and sources may point at.
const PUBLIC: [&str; 12] = [
    "abseil.io",
    "apache.org",
    "cel.dev",
    "github.com",
    "grpc.io",
    "iana.org",
    "ietf.org",
    "keepachangelog.com",
    "protobuf.dev",
    "rfc-editor.org",
    "rust-lang.org",
    // The name of SVG's elements.
    "w3.org",
];

/// Names that RFC 2606 and RFC 6761 keep for examples and tests.
const RESERVED: [&str; 7] =
    ["example", "example.com", "example.net", "example.org", "invalid", "localhost", "test"];

pub(super) fn check(project: &Project<'_>) -> anyhow::Result<Vec<Finding>> {
    let mut findings = Vec::new();
    for file in project.workspace.files()? {
        if let Some(text) = project.workspace.read(&file)? {
            findings.extend(scan(&file, &text));
        }
    }
    Ok(findings)
}

fn scan(file: &Path, text: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let mut find = |what: String| {
            findings.push(Finding::failure(format!("{}:{}: {what}", file.display(), index + 1)));
        };
        for path in private_paths(line) {
            find(format!("`{path}` is a path on one machine"));
        }
        for host in hosts(line).filter(|host| !is_allowed(host)) {
            find(format!("`{host}` is not a host that we point readers at"));
        }
    }
    findings
}

/// Absolute paths into private folders, each up to the first letter below. A path within a URL or a longer relative path is
/// something else.
fn private_paths(line: &str) -> impl Iterator<Item = &str> {
    line.match_indices('/').filter_map(|(at, _)| {
        let starts = line[..at].chars().next_back().is_none_or(|before| !is_path_letter(before));
        let rest = &line[at + 1..];
        let (folder, below) = rest.split_once('/')?;
        let goes_on = below.chars().next().is_some_and(is_path_letter);
        (starts && goes_on && PRIVATE.contains(&folder)).then(|| &line[at..=at + folder.len() + 2])
    })
}

fn is_path_letter(letter: char) -> bool {
    letter.is_alphanumeric() || "._-/:$}".contains(letter)
}

/// The host part of each `http://` and `https://` address.
fn hosts(line: &str) -> impl Iterator<Item = &str> {
    line.match_indices("://").filter_map(|(at, mark)| {
        let scheme = line[..at].rsplit(|letter: char| !letter.is_ascii_alphanumeric()).next();
        if !matches!(scheme, Some("http" | "https")) {
            return None;
        }
        let rest = &line[at + mark.len()..];
        let rest = rest.strip_prefix('[').unwrap_or(rest);
        let end = rest.find(|letter: char| !(letter.is_ascii_alphanumeric() || "-._".contains(letter)));
        // A colon ends a host, but goes on in an IPv6 address: those are short and never public hosts.
        Some(rest[..end.unwrap_or(rest.len())].trim_end_matches('.'))
    })
}

fn is_allowed(host: &str) -> bool {
    let within =
        |domain: &&str| host == *domain || host.strip_suffix(*domain).is_some_and(|sub| sub.ends_with('.'));
    !host.contains('.') || host.parse::<IpAddr>().is_ok() || PUBLIC.iter().chain(&RESERVED).any(within)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(line: &str) -> Vec<String> {
        scan(Path::new("x"), line).into_iter().map(|finding| finding.text).collect()
    }

    #[test]
    fn paths_into_private_folders_are_found() {
        for folder in PRIVATE {
            assert_eq!(found(&format!("cd /{folder}/x")).len(), 1);
            assert_eq!(found(&format!("\"/{folder}/x\"")).len(), 1);
            assert!(found(&format!("a/{folder}/x")).is_empty());
            assert!(found(&format!("http://host/{folder}/x")).is_empty());
        }
        assert!(found("/usr/bin/env, /etc/hosts, /proc/self").is_empty());
    }

    #[test]
    fn only_public_and_reserved_hosts_pass() {
        for fine in [
            "http://127.0.0.1:50051",
            "https://[::1]:1",
            "https://www.rfc-editor.org/rfc/rfc9113",
            "http://greeter.example.com",
            "http://localhost:1",
            "http://host:1",
            "http://{address}",
        ] {
            assert!(found(fine).is_empty(), "{fine}");
        }
        assert_eq!(found(&format!("http{}mirror.internal.net/x", "://")).len(), 1);
        assert_eq!(found(&format!("http{}evilgithub.com/x", "://")).len(), 1);
    }
}
