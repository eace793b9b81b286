//! Why bytes are no certificate request, in the words of Go's decoder of ASN.1.

const SEQUENCE: u8 = 0x30;

/// What is wrong with the outermost part, or with something in it.
pub fn problem(bytes: &[u8]) -> String {
    match header(bytes) {
        Err(why) => format!("asn1: syntax error: {why}"),
        Ok(Header {
            first,
            tag,
            length,
            size,
        }) if first != SEQUENCE => format!(
            "asn1: structure error: tags don't match (16 vs {{class:{} tag:{tag} length:{length} \
             isCompound:{}}}) {{optional:false explicit:false application:false private:false \
             defaultValue:<nil> tag:<nil> stringType:0 timeType:0 set:false omitEmpty:false}} \
             certificateRequest @{size}",
            first >> 6,
            first & 0x20 != 0,
        ),
        Ok(Header { length: 0, .. }) => "asn1: syntax error: sequence truncated".to_owned(),
        Ok(_) => "asn1: syntax error: data truncated".to_owned(),
    }
}

struct Header {
    first: u8,
    tag: u32,
    length: usize,
    size: usize,
}

fn header(bytes: &[u8]) -> Result<Header, &'static str> {
    const SHORT: &str = "truncated tag or length";
    let Some(&first) = bytes.first() else {
        return Err("sequence truncated");
    };
    let mut size = 1;
    let mut next = || {
        let byte = bytes.get(size).copied();
        size += 1;
        byte.ok_or(SHORT)
    };
    let mut tag = u32::from(first & 0x1f);
    if tag == 0x1f {
        tag = 0;
        loop {
            let byte = next()?;
            tag = tag.checked_mul(128).ok_or("base 128 integer too large")?;
            tag += u32::from(byte & 0x7f);
            if byte & 0x80 == 0 {
                break;
            }
        }
    }
    let byte = next()?;
    let mut length = usize::from(byte & 0x7f);
    if byte & 0x80 != 0 {
        let count = length;
        length = 0;
        for _ in 0..count {
            let byte = next()?;
            if length >= 1 << 23 {
                return Err("length too large");
            }
            length = length << 8 | usize::from(byte);
        }
    }
    Ok(Header {
        first,
        tag,
        length,
        size,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_thing_that_is_wrong_is_told() {
        for (bytes, why) in [
            (&b""[..], "asn1: syntax error: sequence truncated"),
            (b"\x30\x00", "asn1: syntax error: sequence truncated"),
            (
                b"\x30\x82\x01",
                "asn1: syntax error: truncated tag or length",
            ),
            (b"\x30\x05\x01", "asn1: syntax error: data truncated"),
        ] {
            assert_eq!(problem(bytes), why, "{bytes:?}");
        }
        assert!(
            problem(b"\x02\x01\x05").contains("(16 vs {class:0 tag:2 length:1 isCompound:false})")
        );
    }
}
