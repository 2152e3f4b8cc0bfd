// SPDX-License-Identifier: Apache-2.0

//! `Warning` headers of the server.

/// Texts of headers of the form `299 - "text"`, several to a header. D20.
pub(crate) fn warning_texts<'a>(headers: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let mut texts = Vec::new();
    for header in headers {
        let mut rest = header;
        while let Some((code, text, behind)) = next_warning(rest) {
            if code == "299" && !text.is_empty() {
                texts.push(text);
            }
            rest = behind;
        }
    }
    texts
}

/// Takes one warning off the front of a header. What follows one that cannot be read makes no sense.
fn next_warning(header: &str) -> Option<(&str, String, &str)> {
    let (code, rest) = header.trim_start_matches([' ', ',']).split_once(' ')?;
    let (_agent, rest) = rest.split_once(' ')?;
    let (text, rest) = quoted_text(rest)?;
    let rest = quoted_text(rest.trim_start()).map_or(rest, |(_date, behind)| behind);
    Some((code, text, rest))
}

/// Reads a quoted string at the front; a backslash makes the next sign plain.
fn quoted_text(from: &str) -> Option<(String, &str)> {
    let inside = from.strip_prefix('"')?;
    let mut text = String::new();
    let mut signs = inside.char_indices();
    while let Some((at, sign)) = signs.next() {
        match sign {
            '"' => return Some((text, &inside[at + 1..])),
            '\\' => text.push(signs.next()?.1),
            _ => text.push(sign),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vectors::{rows, texts};

    #[test]
    fn warnings_are_read() {
        rows("warnings", |row| {
            let headers = texts(&row["headers"]);
            let got = warning_texts(headers.iter().map(String::as_str));
            assert_eq!(got, texts(&row["want"]));
        });
    }
}
