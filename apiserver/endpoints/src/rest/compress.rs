//! Long answers are compressed for clients that read gzip.

use flate2::Compression;
use flate2::write::GzEncoder;
use http::header::{ACCEPT_ENCODING, CONTENT_ENCODING, VARY};
use http::{HeaderMap, HeaderValue, Response};

use crate::body::Body;

/// Shorter answers are sent as they are.
const LONG: u64 = 128 * 1024;

/// Whether the client reads gzip. As on the real server, an entry with a quality is none.
pub(crate) fn is_wanted(headers: &HeaderMap) -> bool {
    let value = headers.get(ACCEPT_ENCODING);
    let value = value.and_then(|value| value.to_str().ok());
    value.is_some_and(|value| value.split(',').any(|entry| entry.trim() == "gzip"))
}

/// The answer, compressed if it is long.
pub(crate) fn compressed(response: Response<Body>) -> Response<Body> {
    if response.body().length().is_none_or(|length| length <= LONG) {
        return response;
    }
    // The fastest level: the others take many times as long to save little more.
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    let written = response.body().write_to(&mut encoder);
    let written = written.and_then(|()| encoder.finish());
    let Ok(short) = written else {
        return response;
    };
    let (mut parts, _) = response.into_parts();
    let gzip = HeaderValue::from_static("gzip");
    parts.headers.insert(CONTENT_ENCODING, gzip);
    let by = HeaderValue::from_static("Accept-Encoding");
    parts.headers.append(VARY, by);
    Response::from_parts(parts, Body::from(short))
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use flate2::read::GzDecoder;

    use super::*;

    const AS_IT_IS: usize = 128 * 1024;

    fn wants(encodings: &'static str) -> bool {
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT_ENCODING, HeaderValue::from_static(encodings));
        is_wanted(&headers)
    }

    #[test]
    fn gzip_is_wanted_by_its_name_alone() {
        assert!(wants("gzip"));
        assert!(wants("deflate, gzip"));
        for other in ["", "GZIP", "*", "gzip;q=0", "identity"] {
            assert!(!wants(other), "{other}");
        }
    }

    #[test]
    fn what_is_long_is_compressed_and_nothing_else() {
        let short = compressed(Response::new(Body::from(vec![b'a'; AS_IT_IS])));
        assert!(!short.headers().contains_key(CONTENT_ENCODING));
        let text = vec![b'a'; AS_IT_IS + 1];
        let long = compressed(Response::new(Body::from(text.clone())));
        assert_eq!(long.headers()[CONTENT_ENCODING], "gzip");
        assert_eq!(long.headers()[VARY], "Accept-Encoding");
        let bytes = long.body().text().unwrap();
        let mut plain = Vec::new();
        GzDecoder::new(&bytes[..]).read_to_end(&mut plain).unwrap();
        assert_eq!(plain, text);
    }
}
