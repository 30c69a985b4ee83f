//! Where instructions go, from callgrind's own file format (`fn=(1) name`, then lines of a position and a cost).

use std::collections::HashMap;

use anyhow::Context as _;

/// Instructions of each function itself, in a whole run.
#[derive(Debug, Default)]
pub(super) struct Profile(HashMap<String, u64>);

/// The same for one call.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Functions(Vec<(String, f64)>);

impl Profile {
    pub(super) fn parse(text: &str) -> anyhow::Result<Self> {
        let mut names: HashMap<&str, &str> = HashMap::new();
        let mut costs: HashMap<&str, u64> = HashMap::new();
        let mut function = None;
        // The line that follows `calls=` has what the called function cost, which is counted there.
        let mut is_of_callee = false;
        for line in text.lines() {
            if let Some(name) = line.strip_prefix("fn=") {
                let (id, name) = name.split_once(' ').unwrap_or((name, ""));
                if !name.is_empty() {
                    names.insert(id, name);
                }
                function = Some(id);
            } else if let Some(name) = line.strip_prefix("cfn=") {
                if let Some((id, name)) = name.split_once(' ') {
                    names.insert(id, name);
                }
            } else if line.starts_with("calls=") {
                is_of_callee = true;
            } else if line.starts_with(|first: char| first.is_ascii_digit() || "+-*".contains(first)) {
                if std::mem::take(&mut is_of_callee) {
                    continue;
                }
                let cost = line.split_whitespace().nth(1).and_then(|cost| cost.parse::<u64>().ok());
                let function = function.with_context(|| format!("a cost without a function: {line}"))?;
                *costs.entry(function).or_default() += cost.unwrap_or(0);
            }
        }
        let mut profile = Self::default();
        for (id, cost) in costs {
            let name = readable(names.get(id).copied().unwrap_or(id));
            *profile.0.entry(name).or_default() += cost;
        }
        Ok(profile)
    }

    /// Per call, of the `calls` that `shorter` did not make; dearest first.
    pub(super) fn since(&self, shorter: &Self, calls: u64) -> Functions {
        let share = |(name, cost): (&String, &u64)| {
            let before = shorter.0.get(name).copied().unwrap_or(0);
            (name.clone(), (*cost as f64 - before as f64) / calls as f64)
        };
        Functions::new(self.0.iter().map(share).collect())
    }
}

impl Functions {
    pub(super) fn new(mut functions: Vec<(String, f64)>) -> Self {
        functions.sort_by(|(a, x), (b, y)| y.total_cmp(x).then_with(|| a.cmp(b)));
        Self(functions)
    }

    pub(super) fn total(&self) -> f64 {
        self.0.iter().map(|(_, cost)| cost).sum()
    }

    /// Those that take at least `share` of the whole.
    pub(super) fn above(&self, share: f64) -> impl Iterator<Item = (&str, f64)> {
        let least = self.total() * share;
        let named = self.0.iter().map(|(name, cost)| (name.as_str(), *cost));
        named.take_while(move |(_, cost)| *cost >= least)
    }

    /// What costs more than in `before` by at least `least` instructions, most first: name, then, now. A function that
    /// `before` does not list counts as free there.
    pub(super) fn grown_since(&self, before: &Self, least: f64) -> Vec<(&str, f64, f64)> {
        let then: HashMap<&str, f64> = before.0.iter().map(|(name, cost)| (name.as_str(), *cost)).collect();
        let mut grown: Vec<_> = self
            .0
            .iter()
            .map(|(name, now)| (name.as_str(), then.get(name.as_str()).copied().unwrap_or(0.0), *now))
            .filter(|(_, then, now)| now - then >= least)
            .collect();
        grown.sort_by(|(_, a, b), (_, x, y)| (y - x).total_cmp(&(b - a)));
        grown
    }
}

/// A symbol without what changes from build to build: the hash behind it, callgrind's mark of a cycle.
fn readable(symbol: &str) -> String {
    let symbol = symbol.split('\'').next().unwrap_or(symbol);
    match symbol.rfind("::h") {
        Some(at)
            if symbol.len() == at + 19 && symbol[at + 3..].bytes().all(|byte| byte.is_ascii_hexdigit()) =>
        {
            symbol[..at].to_owned()
        }
        _ => symbol.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "\
version: 1
events: Ir

fl=(1) a.rs
fn=(1) outer::h0123456789abcdef
16 3
+2 4
cfn=(2) inner
calls=2 8
* 100
fn=(2)
8 60
fi=(3) b.rs
-3 40
fn=(1)
5 1
";

    #[test]
    fn costs_are_those_of_the_function_itself() {
        let functions = Profile::parse(FILE).unwrap().since(&Profile::default(), 1);
        assert_eq!(functions.0, [("inner".to_owned(), 100.0), ("outer".to_owned(), 8.0)]);
        assert!((functions.total() - 108.0).abs() < 1e-9);
    }

    #[test]
    fn what_grew_is_named_with_both_figures() {
        let of = |costs: &[(&str, f64)]| {
            Functions::new(costs.iter().map(|&(name, cost)| (name.to_owned(), cost)).collect())
        };
        let now = of(&[("a", 10.0), ("b", 60.0), ("c", 30.0)]);
        let before = of(&[("a", 9.5), ("b", 20.0)]);
        assert_eq!(now.grown_since(&before, 2.0), [("b", 20.0, 60.0), ("c", 0.0, 30.0)]);
    }

    #[test]
    fn a_cost_that_belongs_to_nobody_is_an_error() {
        assert!(Profile::parse("16 3\n").is_err());
    }
}
