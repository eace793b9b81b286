//! Lays out JSON text for people to read, or on one line.

/// The text with a line for each member and item, as Go's `json.Indent` has it with two blanks.
pub fn indented(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(2 * text.len());
    let mut depth = 0_usize;
    let mut rest = text.iter().copied().peekable();
    let line = |out: &mut Vec<u8>, depth: usize| {
        out.push(b'\n');
        out.resize(out.len() + 2 * depth, b' ');
    };
    while let Some(byte) = rest.next() {
        match byte {
            b'"' => {
                out.push(byte);
                while let Some(byte) = rest.next() {
                    out.push(byte);
                    match byte {
                        b'\\' => out.extend(rest.next()),
                        b'"' => break,
                        _ => {}
                    }
                }
            }
            b'{' | b'[' => {
                out.push(byte);
                if let Some(end) = rest.next_if(|next| matches!(next, b'}' | b']')) {
                    out.push(end);
                } else {
                    depth += 1;
                    line(&mut out, depth);
                }
            }
            b'}' | b']' => {
                depth = depth.saturating_sub(1);
                line(&mut out, depth);
                out.push(byte);
            }
            b',' => {
                out.push(byte);
                line(&mut out, depth);
            }
            b':' => out.extend_from_slice(b": "),
            _ => out.push(byte),
        }
    }
    out
}

/// The text without blanks between its parts, as Go's `json.Compact` has it.
///
/// ```
/// let text = kubewright_apimachinery::json::compact(b"{\n  \"a b\": 2.0\n}");
/// assert_eq!(text, br#"{"a b":2.0}"#);
/// ```
pub fn compact(text: &[u8]) -> Vec<u8> {
    let (mut quoted, mut escaped) = (false, false);
    let stays = |byte: &u8| {
        let stays = quoted || !byte.is_ascii_whitespace();
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => quoted = !quoted,
            _ => {}
        }
        stays
    };
    text.iter().copied().filter(stays).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn text_is_laid_out_as_serde_json_lays_out_trees() {
        let value = json!({"a": [1, {"b": "x, {\"\\:"}, [], {}], "c": {"d": null, "e": [[true]]}, "f": -1.5});
        let laid_out = indented(value.to_string().as_bytes());
        assert_eq!(
            String::from_utf8(laid_out).unwrap(),
            serde_json::to_string_pretty(&value).unwrap()
        );
        assert_eq!(
            compact(&indented(value.to_string().as_bytes())),
            value.to_string().as_bytes()
        );
    }
}
