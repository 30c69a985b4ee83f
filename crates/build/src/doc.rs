//! Comments of a proto as rustdoc.
//!
//! Proto comments are prose written for no markdown processor in particular. Two things go wrong when they are taken
//! over as they stand: rustdoc compiles indented and fenced blocks as tests (bug-reports 96), and `<name>` disappears
//! as an HTML tag. [`lines`] mends both; the messages' code generators and our services share it.

/// The comment as lines for `#[doc]`, each with a leading space unless empty. Code blocks come out fenced as `text`
/// unless the author named a language that rustdoc does not run. A fence left open is closed.
pub(crate) fn lines(comment: &str) -> Vec<String> {
    let mut out = Vec::new();
    let mut block = Block::Prose { paragraph_open: false };
    for raw in comment.lines() {
        // Every line of `// text` starts with the space after the slashes.
        let line = raw.strip_prefix(' ').unwrap_or(raw).trim_end();
        block = take_line(block, line, &mut out);
    }
    close(block, &mut out);
    while out.last().is_some_and(String::is_empty) {
        out.pop();
    }
    out
}

/// What the line before left open.
#[derive(Clone, Copy)]
enum Block {
    /// Ordinary text; inside a paragraph an indented line is no code.
    Prose { paragraph_open: bool },
    /// The author's own fence: its character and how many of it.
    Fence { mark: char, count: usize },
    /// An indented block, for which we opened a fence; blank lines are held back until it is known that it goes on.
    Indented { blank_lines: usize },
}

fn take_line(block: Block, line: &str, out: &mut Vec<String>) -> Block {
    match block {
        Block::Fence { mark, count } => {
            out.push(padded(line));
            let (mark_here, count_here, info) = fence(line).unwrap_or((' ', 0, ""));
            let closes = mark_here == mark && count_here >= count && info.is_empty();
            if closes { Block::Prose { paragraph_open: false } } else { Block::Fence { mark, count } }
        }
        Block::Indented { blank_lines } if line.is_empty() => {
            Block::Indented { blank_lines: blank_lines + 1 }
        }
        Block::Indented { blank_lines } if is_indented(line) => {
            out.extend(std::iter::repeat_n(String::new(), blank_lines));
            out.push(padded(unindented(line)));
            Block::Indented { blank_lines: 0 }
        }
        Block::Indented { blank_lines } => {
            close(block, out);
            out.extend(std::iter::repeat_n(String::new(), blank_lines));
            take_line(Block::Prose { paragraph_open: false }, line, out)
        }
        Block::Prose { paragraph_open } => take_prose(paragraph_open, line, out),
    }
}

fn take_prose(paragraph_open: bool, line: &str, out: &mut Vec<String>) -> Block {
    if line.is_empty() {
        out.push(String::new());
        return Block::Prose { paragraph_open: false };
    }
    if is_indented(line) {
        if paragraph_open {
            out.push(padded(&escaped(line.trim_start())));
            return Block::Prose { paragraph_open };
        }
        out.push(" ```text".to_owned());
        out.push(padded(unindented(line)));
        return Block::Indented { blank_lines: 0 };
    }
    if let Some((mark, count, info)) = fence(line) {
        let run = mark.to_string().repeat(count);
        out.push(format!(" {run}{}", harmless_language(info)));
        return Block::Fence { mark, count };
    }
    out.push(padded(&escaped(line)));
    Block::Prose { paragraph_open: !line.starts_with('#') }
}

fn close(block: Block, out: &mut Vec<String>) {
    match block {
        Block::Prose { .. } => {}
        Block::Fence { mark, count } => out.push(format!(" {}", mark.to_string().repeat(count))),
        Block::Indented { .. } => out.push(" ```".to_owned()),
    }
}

/// A run of three or more backticks or tildes that opens or closes a block: its character, length and what follows.
fn fence(line: &str) -> Option<(char, usize, &str)> {
    let text = line.trim_start();
    let mark = text.chars().next().filter(|first| matches!(first, '`' | '~'))?;
    let info = text.trim_start_matches(mark);
    let count = text.len() - info.len();
    (count >= 3 && !is_indented(line) && !info.contains('`')).then_some((mark, count, info.trim()))
}

/// The language of a fence if rustdoc leaves it alone, else `text`. Words of letters and digits other than rustdoc's own
/// are languages to it.
fn harmless_language(info: &str) -> &str {
    const RUN_BY_RUSTDOC: &[&str] =
        &["rust", "ignore", "should_panic", "no_run", "compile_fail", "test_harness", "standalone", "custom"];
    let is_word = !info.is_empty() && info.bytes().all(|byte| byte.is_ascii_alphanumeric());
    let is_run = RUN_BY_RUSTDOC.contains(&info)
        || info.starts_with("edition")
        || info.strip_prefix('E').is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_digit()));
    if is_word && !is_run { info } else { "text" }
}

/// Markdown counts a tab as far as the next multiple of four columns; four columns make code.
fn is_indented(line: &str) -> bool {
    let mut columns = 0;
    for letter in line.chars() {
        match letter {
            ' ' => columns += 1,
            '\t' => columns += 4 - columns % 4,
            _ => break,
        }
    }
    columns >= 4
}

fn unindented(line: &str) -> &str {
    let stripped =
        line.strip_prefix("    ").or_else(|| line.trim_start_matches(' ').strip_prefix('\t')).unwrap_or(line);
    // A fence mark taken out of its indentation would end the block that we opened.
    if fence(stripped).is_some() { line } else { stripped }
}

fn padded(line: &str) -> String {
    if line.is_empty() { String::new() } else { format!(" {line}") }
}

/// Escapes `<` outside of code spans, except in front of an address in angle brackets.
fn escaped(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    let mut in_code = false;
    for (at, letter) in line.char_indices() {
        let rest = &line[at..];
        match letter {
            '`' => in_code = !in_code,
            '<' if !in_code && !rest.starts_with("<http") && !line[..at].ends_with('\\') => out.push('\\'),
            _ => {}
        }
        out.push(letter);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prose_is_kept() {
        assert_eq!(lines(" One.\n Two.\n\n Three.\n"), [" One.", " Two.", "", " Three."]);
        assert!(lines("").is_empty());
    }

    // bug-reports 96
    #[test]
    fn an_indented_block_is_no_test() {
        let comment = " Say:\n\n     let x = 1;\n\n     assert!(false);\n After.\n";
        let expected = [" Say:", "", " ```text", " let x = 1;", "", " assert!(false);", " ```", " After."];
        assert_eq!(lines(comment), expected);
        assert_eq!(lines("\tpanic!()\n"), [" ```text", " panic!()", " ```"]);
    }

    // bug-reports 96
    #[test]
    fn fences_get_a_language_that_is_not_run() {
        assert_eq!(lines(" ```\n panic!()\n ```\n x"), [" ```text", " panic!()", " ```", " x"]);
        assert_eq!(lines(" ```rust\n a\n ```"), [" ```text", " a", " ```"]);
        assert_eq!(lines(" ~~~rust,no_run\n a\n ~~~"), [" ~~~text", " a", " ~~~"]);
        assert_eq!(lines(" ```json\n {}\n ```"), [" ```json", " {}", " ```"]);
    }

    #[test]
    fn an_open_fence_is_closed() {
        assert_eq!(lines(" ````\n ```\n a"), [" ````text", " ```", " a", " ````"]);
    }

    #[test]
    fn continuation_lines_of_a_paragraph_are_no_code() {
        assert_eq!(
            lines(" - item that is long\n      and goes on"),
            [" - item that is long", " and goes on"]
        );
        assert_eq!(lines(" # Title\n      code"), [" # Title", " ```text", "  code", " ```"]);
    }

    #[test]
    fn angle_brackets_survive() {
        assert_eq!(lines(" Use <name> or `<code>`."), [" Use \\<name> or `<code>`."]);
        assert_eq!(lines(" See <https://example.com>."), [" See <https://example.com>."]);
    }
}
