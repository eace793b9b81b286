//! Request bodies recorded from Go, and malformed ones.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::conform::tests::{any_object, kind_of, recorded};
use crate::conform::{Conformed, Medium, conform, write_empties};
use crate::json::ordered::text;

/// `runtime.Unknown` around a message.
fn envelope(api_version: &str, kind: &str, raw: &[u8]) -> Vec<u8> {
    let type_meta = [field(1, api_version.as_bytes()), field(2, kind.as_bytes())].concat();
    [MAGIC.to_vec(), field(1, &type_meta), field(2, raw)].concat()
}

fn field(number: u8, bytes: &[u8]) -> Vec<u8> {
    let mut out = vec![number << 3 | 2];
    let mut length = bytes.len();
    while length > 0x7f {
        out.push(u8::try_from(length & 0x7f).unwrap() | 0x80);
        length >>= 7;
    }
    out.push(u8::try_from(length).unwrap());
    out.extend_from_slice(bytes);
    out
}

#[test]
fn what_go_writes_is_read_as_go_reads_it() {
    let mut count = 0;
    for case in recorded::all() {
        let Some(text) = case.protobuf else {
            continue;
        };
        let bytes = STANDARD.decode(text).unwrap();
        let mut object = decode(&bytes).unwrap();
        let conformed = conform(&kind_of(&object), &mut object);
        assert_eq!(conformed, Ok(Conformed::default()));
        assert_eq!(object, case.output);
        count += 1;
    }
    assert!(count > 60, "{count}");
}

/// Go always writes the times of an event.
#[test]
fn a_time_of_an_event_without_seconds_is_none() {
    let read = |time: &[u8]| decode(&envelope("v1", "Event", &field(6, time))).unwrap();
    assert_eq!(read(b"")["firstTimestamp"], Value::Null);
    assert_eq!(
        read(b"\x08\x80\x92\xb8\xc3\x98\xfe\xff\xff\xff\x01")["firstTimestamp"],
        "0001-01-01T00:00:00Z"
    );
}

#[test]
fn what_go_writes_is_written_byte_for_byte() {
    // Go tells a pointer to no time from no pointer; JSON says null of both.
    let told_apart = |case: &recorded::Case| {
        let text = case.output.to_string();
        !["ime\":null", "Timestamp\":null"]
            .iter()
            .any(|none| text.contains(none))
    };
    let mut count = 0;
    for case in recorded::all().filter(told_apart) {
        let Some(text) = case.protobuf else {
            continue;
        };
        let wanted = STANDARD.decode(text).unwrap();
        // JSON within the message is kept as the client laid it out.
        if wanted.windows(3).any(|bytes| bytes == b"\": ") {
            continue;
        }
        count += 1;
        let written = encode(&case.output);
        assert!(
            written == wanted,
            "{}\n{written:02x?}\n{wanted:02x?}",
            case.output
        );
    }
    assert!(count > 30, "{count}");
}

#[test]
fn failures_lists_and_metadata_alone_are_written_and_read_again() {
    let status = crate::status::Status::not_found("", "configmaps", "nope").to_value();
    let list = json!({"kind": "ConfigMapList", "apiVersion": "v1", "metadata": {"resourceVersion": "224"}, "items": [{
        "metadata": {"name": "a", "namespace": "default", "uid": "u", "resourceVersion": "210"}, "data": {"b": "<1>"},
    }]});
    let part = json!({"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": {"name": "a"}});
    let parts = json!({"kind": "PartialObjectMetadataList", "apiVersion": "meta.k8s.io/v1", "metadata": {"continue": "c"},
        "items": [{"metadata": {"name": "a"}}]});
    for value in [&status, &list, &part, &parts] {
        assert_eq!(decode_answer(&encode(value)).as_ref(), Ok(value));
    }
    // An empty list of metadata has no items, and the metadata of a list nevertheless.
    let mut none = json!({"kind": "PartialObjectMetadataList", "apiVersion": "meta.k8s.io/v1", "metadata": {"resourceVersion": "7"},
        "items": null});
    let read = decode_answer(&encode(&none));
    none["items"] = json!([]);
    assert_eq!(read.as_ref(), Ok(&none));
    // As a kube-apiserver v1.36.3 wrote it.
    assert_eq!(
        encode(&status),
        b"k8s\x00\n\x0c\n\x02v1\x12\x06Status\x12U\n\x06\n\x00\x12\x00\x1a\x00\x12\x07Failure\x1a\x1bconfigmaps \"nope\" \
          not found\"\x08NotFound*\x18\n\x04nope\x12\x00\x1a\nconfigmaps(\x002\x000\x94\x03\x1a\x00\"\x00"
    );
}

#[test]
fn a_watch_event_has_its_length_before_it() {
    let map = json!({"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": "a"}});
    let frame = frame("ADDED", &map);
    let (length, event) = frame.split_first_chunk().unwrap();
    assert_eq!(
        usize::try_from(u32::from_be_bytes(*length)),
        Ok(event.len())
    );
    let (change, object) = decode_event(event).unwrap();
    assert_eq!((&*change, decode_answer(&object)), ("ADDED", Ok(map)));
}

#[test]
fn a_config_map_as_kubectl_sends_it() {
    let entry = [field(1, b"key"), field(2, b"value")].concat();
    let raw = [field(1, &field(1, b"settings")), field(2, &entry)].concat();
    assert_eq!(
        decode(&envelope("v1", "ConfigMap", &raw)),
        Ok(json!({
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": "settings"},
            "data": {"key": "value"},
        }))
    );
}

#[test]
fn options_are_read_in_every_group() {
    // gracePeriodSeconds 0, propagationPolicy Background.
    let raw = [vec![0x08, 0x00], field(4, b"Background")].concat();
    assert_eq!(
        decode(&envelope("apps/v1", "DeleteOptions", &raw)),
        Ok(json!({
            "apiVersion": "apps/v1",
            "kind": "DeleteOptions",
            "gracePeriodSeconds": 0,
            "propagationPolicy": "Background",
        }))
    );
}

#[test]
fn a_body_without_a_kind_is_of_the_expected_one() {
    let body = [MAGIC.to_vec(), field(2, &[])].concat();
    assert_eq!(decode(&body), Err(DecodeError::NoKind));
    let expected = GroupVersionKind {
        group: "apps".into(),
        version: "v1".into(),
        kind: "Deployment".into(),
    };
    assert_eq!(
        decode_as(&body, &expected),
        Ok(json!({"apiVersion": "apps/v1", "kind": "Deployment"}))
    );
}

#[test]
fn what_is_no_body_is_refused_with_a_reason() {
    let cases: [(&[u8], &str); 7] = [
        (b"", "empty data"),
        (
            b"{}",
            "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]",
        ),
        (
            &envelope("v1", "Gadget", b""),
            "no kind \"Gadget\" is registered for version \"v1\"",
        ),
        (
            &envelope("v1", "Pod", b"\x0a\x05a"),
            "cannot read the protobuf message: it is cut short",
        ),
        (
            &envelope("v1", "Pod", b"\x08\x01"),
            "cannot read the protobuf message: a field has the wrong wire type",
        ),
        (
            &envelope("v1", "Pod", b"\x0b"),
            "cannot read the protobuf message: a field has an unknown wire type",
        ),
        (
            &envelope("v1", "Pod", b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"),
            "cannot read the protobuf message: a number is too long",
        ),
    ];
    for (bytes, expected) in cases {
        assert_eq!(decode(bytes).unwrap_err().to_string(), expected);
    }
}

#[test]
fn deep_and_large_messages_are_refused() {
    let mut schema = Vec::new();
    for _ in 0..500 {
        // JSONSchemaProps.not
        schema = [vec![0xe2, 0x01], field(0, &schema)[1..].to_vec()].concat();
    }
    let version = field(4, &field(1, &schema));
    let definition = field(2, &field(7, &version));
    let body = envelope(
        "apiextensions.k8s.io/v1",
        "CustomResourceDefinition",
        &definition,
    );
    assert_eq!(
        decode(&body),
        Err(DecodeError::Malformed("it is nested too deep"))
    );

    let many: Vec<u8> = std::iter::repeat_n([0x12, 0x00], 600_000)
        .flatten()
        .collect();
    let body = envelope("v1", "Pod", &field(2, &many));
    assert_eq!(
        decode(&body),
        Err(DecodeError::Malformed("it holds too many values"))
    );
}

/// Replaces empty lists by null: protobuf does not distinguish an empty list from a missing one.
fn without_empty_lists(value: Value) -> Value {
    match value {
        Value::Array(items) if items.is_empty() => Value::Null,
        Value::Array(items) => items.into_iter().map(without_empty_lists).collect(),
        Value::Object(members) => members
            .into_iter()
            .map(|(name, member)| (name, without_empty_lists(member)))
            .collect(),
        other => other,
    }
}

proptest! {
    #[test]
    fn every_object_that_is_written_is_read_again(seed: u64) {
        let (kind, mut object) = any_object(seed);
        conform(&kind, &mut object).unwrap();
        write_empties(&kind, &mut object, Medium::Storage);
        // The apiVersion and kind of an embedded object are not part of a message.
        let without_type = |embedded: &mut Value| {
            if let Value::Object(embedded) = embedded {
                embedded.retain(|name, _| name != "kind" && name != "apiVersion");
            }
        };
        if let Some(Value::Array(claims)) = object.pointer_mut("/spec/volumeClaimTemplates") {
            claims.iter_mut().for_each(without_type);
        }
        if let Some(options) = object.get_mut("deleteOptions") {
            without_type(options);
        }
        let mut again = decode(&encode(&object)).unwrap();
        conform(&kind, &mut again).unwrap();
        write_empties(&kind, &mut again, Medium::Storage);
        // Compares the JSON: a number equals the same number with a fraction of zero.
        let [again, object] = [again, object].map(|object| text(&without_empty_lists(object)));
        prop_assert_eq!(String::from_utf8(again), String::from_utf8(object));
    }

    #[test]
    fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = decode(&envelope("v1", "Pod", &bytes));
        let _ = decode(&[&MAGIC[..], &bytes].concat());
    }

    #[test]
    fn a_body_with_a_changed_byte_is_read_or_refused(which in 0..60_usize, at: prop::sample::Index, byte: u8) {
        let case = recorded::all().filter_map(|case| case.protobuf).nth(which).unwrap();
        let mut bytes = STANDARD.decode(case).unwrap();
        let at = at.index(bytes.len());
        bytes[at] = byte;
        let _ = decode(&bytes);
    }
}
