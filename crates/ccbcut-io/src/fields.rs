//! Lines of text cut into fields: what edge lists, points and tables of vertices share.

use std::{borrow::Cow, collections::HashMap};

/// The lines of a text that hold something, with their numbers from 1, comments taken off: `#` starts one at the
/// beginning of a line or after a blank.
pub(crate) fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines().enumerate().filter_map(|(number, line)| {
        let content = match line.char_indices().find(|&(at, c)| c == '#' && is_after_blank(line, at)) {
            Some((at, _)) => &line[..at],
            None => line,
        };
        let content = content.trim();
        (!content.is_empty()).then_some((number + 1, content))
    })
}

fn is_after_blank(line: &str, at: usize) -> bool {
    line[..at].chars().next_back().is_none_or(char::is_whitespace)
}

/// The fields of a line: separated by tabs, else by semicolons, else by commas, else by blanks. Between the first three
/// a field may stand in double quotes, with two of them for one inside.
pub(crate) fn fields(line: &str) -> Result<Vec<Cow<'_, str>>, String> {
    let Some(mark) = ['\t', ';', ','].into_iter().find(|&mark| has_outside_quotes(line, mark)) else {
        return Ok(line.split_whitespace().map(Cow::Borrowed).collect());
    };
    let mut found = Vec::new();
    let mut rest = line;
    loop {
        let start = rest.trim_start_matches(|c: char| c.is_whitespace() && c != mark);
        let (field, after) = if let Some(inside) = start.strip_prefix('"') {
            quoted(inside)?
        } else {
            let end = start.find(mark).unwrap_or(start.len());
            (Cow::Borrowed(start[..end].trim()), &start[end..])
        };
        found.push(field);
        let after = after.trim_start_matches(|c: char| c.is_whitespace() && c != mark);
        match after.strip_prefix(mark) {
            Some(next) => rest = next,
            None if after.is_empty() => break,
            None => return Err(format!("expected a separator after a quoted field, got `{after}`")),
        }
    }
    // A separator at the end of a line adds nothing.
    while found.last().is_some_and(|field| field.is_empty()) {
        found.pop();
    }
    Ok(found)
}

fn has_outside_quotes(line: &str, mark: char) -> bool {
    let mut inside = false;
    line.chars().any(|c| {
        inside ^= c == '"';
        c == mark && !inside
    })
}

/// The field up to its closing quote, and what follows.
fn quoted(text: &str) -> Result<(Cow<'_, str>, &str), String> {
    let mut field = String::new();
    let mut rest = text;
    loop {
        let end = rest.find('"').ok_or("expected a closing quote, got the end of the line")?;
        field.push_str(&rest[..end]);
        rest = &rest[end + 1..];
        match rest.strip_prefix('"') {
            Some(next) => {
                field.push('"');
                rest = next;
            }
            None => return Ok((Cow::Owned(field), rest)),
        }
    }
}

/// A name as a field of a comma-separated line, in quotes where it needs them.
pub(crate) fn as_field(name: &str) -> Cow<'_, str> {
    let plain =
        !name.is_empty() && name.trim() == name && !name.contains([',', ';', '\t', '"', '#', '\n', '\r']);
    if plain { Cow::Borrowed(name) } else { Cow::Owned(format!("\"{}\"", name.replace('"', "\"\""))) }
}

/// The number of each name; `Err` holds one that is there twice.
pub(crate) fn numbered(names: &[String]) -> Result<HashMap<&str, u32>, &str> {
    let mut numbers = HashMap::with_capacity(names.len());
    for (number, name) in names.iter().enumerate() {
        if numbers.insert(name.as_str(), number as u32).is_some() {
            return Err(name);
        }
    }
    Ok(numbers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn separators_quotes_and_comments() {
        let cases: [(&str, &[&str]); 8] = [
            ("a b  c", &["a", "b", "c"]),
            ("New York, Boston ,3", &["New York", "Boston", "3"]),
            ("\"Smith, J.\",b,1", &["Smith, J.", "b", "1"]),
            ("\"say \"\"hi\"\"\" ; x;", &["say \"hi\"", "x"]),
            ("a\tb c\t2,5", &["a", "b c", "2,5"]),
            ("a,,2", &["a", "", "2"]),
            ("\"a b\"\tc", &["a b", "c"]),
            ("x", &["x"]),
        ];
        for (line, expected) in cases {
            assert_eq!(fields(line).unwrap(), expected, "{line}");
        }
        assert!(fields("\"open,b").is_ok(), "a lone quote is a letter where nothing separates");
        assert!(fields("\"shut\"c,b").is_err() && fields("a,\"b").is_err());
        let kept: Vec<_> = lines("# c\n\n a#1 b # last\r\n#\nx").collect();
        assert_eq!(kept, [(3, "a#1 b"), (5, "x")]);
    }

    #[test]
    fn names_survive_as_fields() {
        for name in ["a", "a b", "x,y", "say \"hi\"", " padded ", "a#b # c", "", "t\tb"] {
            let line = format!("{},7", as_field(name));
            assert_eq!(fields(&line).unwrap(), [name, "7"], "{name}");
        }
        let names = ["a".to_owned(), "b".to_owned(), "a".to_owned()];
        assert_eq!(numbered(&names), Err("a"));
        assert_eq!(numbered(&names[..2]).unwrap()["b"], 1);
    }
}
