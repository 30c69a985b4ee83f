//! "Did you mean": the name nearest to one that does not exist.
//!
//! Used for services and methods, fields of JSON input, and enum values.

/// The candidate nearest to `wanted`, if one is near enough that a slip of the hand explains the difference:
/// at most a third of the longer name's letters changed, letter case aside. Ties go to the first candidate.
pub(crate) fn nearest<'c>(wanted: &str, candidates: impl IntoIterator<Item = &'c str>) -> Option<&'c str> {
    let wanted_folded = fold(wanted);
    candidates
        .into_iter()
        .filter_map(|candidate| {
            let folded = fold(candidate);
            let distance = distance(&wanted_folded, &folded);
            let longer = wanted_folded.len().max(folded.len());
            (distance * 3 <= longer.max(3)).then_some((distance, candidate))
        })
        .min_by_key(|&(distance, _)| distance)
        .map(|(_, candidate)| candidate)
}

/// Names are compared without case and underscores, so that `userId`, `user_id` and `UserID` are the same.
fn fold(name: &str) -> Vec<char> {
    name.chars().filter(|&c| c != '_').flat_map(char::to_lowercase).collect()
}

/// Edit distance in which a swap of two neighbours counts once (optimal string alignment).
fn distance(a: &[char], b: &[char]) -> usize {
    // Three rows of the table are alive at a time; `before` is two rows up, for the swaps.
    let mut before = vec![0; b.len() + 1];
    let mut above: Vec<usize> = (0..=b.len()).collect();
    let mut row = vec![0; b.len() + 1];
    for (i, &from) in a.iter().enumerate() {
        row[0] = i + 1;
        for (j, &to) in b.iter().enumerate() {
            let replaced = above[j] + usize::from(from != to);
            let mut best = replaced.min(above[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && from == b[j - 1] && a[i - 1] == to {
                best = best.min(before[j - 1] + 1);
            }
            row[j + 1] = best;
        }
        std::mem::swap(&mut before, &mut above);
        std::mem::swap(&mut above, &mut row);
    }
    above[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_of_the_hand_are_found() {
        let names = ["SayHello", "SayGoodbye", "ListAll"];
        assert_eq!(nearest("SayHelo", names), Some("SayHello"));
        assert_eq!(nearest("sayhello", names), Some("SayHello"));
        assert_eq!(nearest("SyaHello", names), Some("SayHello"));
        assert_eq!(nearest("say_goodby", names), Some("SayGoodbye"));
    }

    #[test]
    fn a_different_word_is_no_suggestion() {
        assert_eq!(nearest("Frobnicate", ["SayHello", "ListAll"]), None);
        assert_eq!(nearest("x", ["price", "name"]), None);
        assert_eq!(nearest("anything", []), None);
    }

    #[test]
    fn distance_counts_a_swap_once() {
        let chars = |s: &str| s.chars().collect::<Vec<_>>();
        assert_eq!(distance(&chars("abcd"), &chars("abdc")), 1);
        assert_eq!(distance(&chars(""), &chars("abc")), 3);
        assert_eq!(distance(&chars("kitten"), &chars("sitting")), 3);
    }
}
