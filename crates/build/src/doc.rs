//! Comments of a proto as rustdoc.
//!
//! Proto comments are prose written for no markdown processor in particular. Three things go wrong when they are taken
//! over as they stand: rustdoc compiles indented and fenced blocks as tests (bug-reports 96), `<name>` disappears as an
//! HTML tag, and `[name]` is taken for a link. [`lines`] mends them, for messages by prost and for services; buffa has
//! its own way.

/// The comment as lines for `#[doc]`, each with a leading space unless empty. Code blocks come out fenced as `text`
/// unless the author named a language that rustdoc does not run. A fence left open is closed.
pub(crate) fn lines(comment: &str) -> Vec<String> {
    let comment: String = comment.chars().filter_map(sayable).collect();
    blocks(comment.lines(), escaped)
}

/// Lines of documentation by another generator, in which rustdoc runs nothing.
#[cfg(any(feature = "buffa", test))]
pub(crate) fn not_run<'l>(lines: impl Iterator<Item = &'l str>) -> Vec<String> {
    blocks(lines, str::to_owned)
}

/// `prose` is done to the text outside of code blocks.
fn blocks<'l>(lines: impl Iterator<Item = &'l str>, prose: Prose) -> Vec<String> {
    let mut out = Vec::new();
    let mut block = Block::Prose { paragraph_open: false };
    // Every line of `// text` starts with the space after the slashes.
    let mut lines = lines.map(|raw| raw.strip_prefix(' ').unwrap_or(raw).trim_end()).peekable();
    while let Some(line) = lines.next() {
        let in_fence = matches!(block, Block::Fence { .. });
        let Some(first) = quoted(line).filter(|_| !in_fence) else {
            block = take_line(block, line, prose, &mut out);
            continue;
        };
        close(block, &mut out);
        block = Block::Prose { paragraph_open: false };
        let mut inside = vec![first];
        while let Some(next) = lines.peek().and_then(|line| quoted(line)) {
            inside.push(next);
            lines.next();
        }
        out.extend(blocks(inside.into_iter(), prose).into_iter().map(|line| format!(" >{line}")));
    }
    close(block, &mut out);
    while out.last().is_some_and(String::is_empty) {
        out.pop();
    }
    out
}

/// What is done to a line of text.
type Prose = fn(&str) -> String;

/// What a line of a block quote says.
fn quoted(line: &str) -> Option<&str> {
    if is_indented(line) { None } else { line.trim_start().strip_prefix('>') }
}

/// Without what rustc refuses in comments: a lone carriage return, and marks that turn the direction of text around, with
/// which a comment could pass itself off as code. The mark of [`Verbatim`](crate::verbatim) goes as well.
pub(crate) fn sayable(letter: char) -> Option<char> {
    match letter {
        '\r' => Some(' '),
        '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{e000}' => None,
        other => Some(other),
    }
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

fn take_line(block: Block, line: &str, prose: Prose, out: &mut Vec<String>) -> Block {
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
            take_line(Block::Prose { paragraph_open: false }, line, prose, out)
        }
        Block::Prose { paragraph_open } => take_prose(paragraph_open, line, prose, out),
    }
}

fn take_prose(paragraph_open: bool, line: &str, prose: Prose, out: &mut Vec<String>) -> Block {
    if line.is_empty() {
        out.push(String::new());
        return Block::Prose { paragraph_open: false };
    }
    if is_indented(line) {
        if paragraph_open {
            out.push(padded(&without_code(line.trim_start(), prose)));
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
    if let Some(marker) = list_marker(line)
        && fence(&line[marker..]).is_some()
    {
        // Fences stand at the margin, where no list decides how far they go.
        out.push(padded(line[..marker].trim_end()));
        return take_prose(false, line[marker..].trim_start(), prose, out);
    }
    out.push(padded(&without_code(line, prose)));
    Block::Prose { paragraph_open: !line.starts_with('#') }
}

/// A line of text, in which no list item starts with code or with a quote.
fn without_code(line: &str, prose: Prose) -> String {
    let Some(marker) = list_marker(line) else { return prose(line) };
    let (marker, content) = line.split_at(marker);
    let content = content.trim_start();
    let escape = if content.starts_with('>') || fence(content).is_some() { "\\" } else { "" };
    format!("{} {escape}{}", marker.trim_end(), prose(content))
}

/// The length of the list markers that `line` starts with, up to what the innermost item says; `None` if there are none,
/// or if the items are empty.
fn list_marker(line: &str) -> Option<usize> {
    let content = line.trim_start();
    let digits = content.bytes().take_while(u8::is_ascii_digit).count();
    let marker = if digits == 0 {
        content.strip_prefix(['-', '*', '+'])
    } else {
        content[digits..].strip_prefix(['.', ')'])
    };
    let rest = marker.filter(|rest| rest.starts_with([' ', '\t']))?;
    let at = line.len() - rest.trim_start().len();
    (at < line.len()).then(|| at + list_marker(&line[at..]).unwrap_or(0))
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

/// `line` of prose as markdown that shows what is written: no HTML, no links but those that the author meant, and
/// addresses as links. Code spans and what is escaped already stay as they are.
fn escaped(line: &str) -> String {
    let mut out = String::with_capacity(line.len() + 8);
    // Square brackets whose opening one was escaped.
    let mut literal_brackets = 0;
    let mut rest = line;
    while let Some(letter) = rest.chars().next() {
        let taken = match letter {
            '`' => code_span(rest),
            '\\' => 1 + rest[1..].chars().next().map_or(0, char::len_utf8),
            '<' if rest.starts_with("<http") => rest.find('>').map_or(1, |end| end + 1),
            // Behind a link's text stands its name.
            '[' if is_link(rest) || out.ends_with(']') && !out.ends_with("\\]") => 1,
            '<' | '[' => {
                literal_brackets += usize::from(letter == '[');
                out.push('\\');
                1
            }
            ']' if literal_brackets > 0 => {
                literal_brackets -= 1;
                out.push('\\');
                1
            }
            'h' if !out.ends_with(|before: char| before.is_alphanumeric() || before == '"')
                && !out.ends_with("](") =>
            {
                match address(rest) {
                    0 => 1,
                    length => {
                        out.extend(["<", &rest[..length], ">"]);
                        rest = &rest[length..];
                        continue;
                    }
                }
            }
            other => other.len_utf8(),
        };
        out.push_str(&rest[..taken]);
        rest = &rest[taken..];
    }
    out
}

/// The length of the code span that `text` starts with; of its backticks alone if they are never closed.
fn code_span(text: &str) -> usize {
    let ticks = text.bytes().take_while(|&byte| byte == b'`').count();
    let mut at = ticks;
    while let Some(next) = text[at..].find('`') {
        at += next;
        let run = text[at..].bytes().take_while(|&byte| byte == b'`').count();
        at += run;
        if run == ticks {
            return at;
        }
    }
    ticks
}

/// Whether the bracket that `text` starts with opens a link: its closing one is followed by an address or a name.
fn is_link(text: &str) -> bool {
    let mut depth = 0;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'[' => depth += 1,
            b']' if depth == 1 => return text[at + 1..].starts_with(['(', '[']),
            b']' => depth -= 1,
            _ => {}
        }
    }
    false
}

/// The length of the web address that `text` starts with, without punctuation that ends the sentence; 0 if there is none.
fn address(text: &str) -> usize {
    let Some(name) = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://")) else { return 0 };
    let ends =
        |letter: char| letter.is_whitespace() || matches!(letter, '<' | '>' | ')' | ']' | '`' | '"' | '\\');
    let name = &name[..name.find(ends).unwrap_or(name.len())];
    let name = name.trim_end_matches(['.', ',', ';', ':', '!', '?', '\'', '*', '_']);
    if name.is_empty() { 0 } else { text.len() - text[text.find("//").unwrap_or(0) + 2..].len() + name.len() }
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

    // bug-reports 96
    #[test]
    fn quotes_and_lists_hide_no_test() {
        assert_eq!(lines(" > ```rust\n > a\n > ```\n b"), [" > ```text", " > a", " > ```", " b"]);
        assert_eq!(
            lines(" >     a\n > > ```\n > > b"),
            [" > ```text", " > a", " > ```", " > > ```text", " > > b", " > > ```"]
        );
        assert_eq!(lines(" - ```\n   a\n   ```"), [" -", " ```text", "   a", "   ```"]);
        assert_eq!(lines(" 1. - ~~~rust\n a"), [" 1. -", " ~~~text", " a", " ~~~"]);
        assert_eq!(lines(" -      a\n *\t\tb"), [" - a", " * b"]);
        assert_eq!(lines(" - > ```"), [" - \\> ```"]);
        assert_eq!(
            not_run([" \\<a> [b]", "", "     c"].into_iter()),
            [" \\<a> [b]", "", " ```text", " c", " ```"]
        );
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
        assert_eq!(lines(" A ` alone, then <b> and \\<i>."), [" A ` alone, then \\<b> and \\<i>."]);
    }

    #[test]
    fn brackets_are_no_links_unless_meant() {
        assert_eq!(lines(" [#not-implemented: x[1]] `[y]`"), [" \\[#not-implemented: x\\[1\\]\\] `[y]`"]);
        assert_eq!(lines(" a [text](http://example.com) [t][r]"), [" a [text](http://example.com) [t][r]"]);
        assert_eq!(lines(" [open"), [" \\[open"]);
    }

    #[test]
    fn addresses_become_links() {
        assert_eq!(lines(" See https://example.com/c(d), or"), [" See <https://example.com/c(d>), or"]);
        assert_eq!(lines(" at (http://example.com/?x=1)."), [" at (<http://example.com/?x=1>)."]);
        assert_eq!(
            lines(" At http://example.com/c. Then https:// and `http://x`"),
            [" At <http://example.com/c>. Then https:// and `http://x`"]
        );
    }
}
