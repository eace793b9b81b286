//! What the fuzz targets check, on any bytes. The tests run it on the seed corpus.

use kubewright_review::{AdmissionReview, Body, Change, Image, Scope};
use serde_json::Value;

/// No body makes the reader panic; a body that it takes is JSON, and read the same by serde_json.
pub(crate) fn decode(data: &[u8]) {
    let Ok(body) = Body::new(data.to_vec()) else {
        assert!(std::str::from_utf8(data).is_err());
        return;
    };
    let stepped_over = AdmissionReview::read(&body);
    let typed = AdmissionReview::read_typed::<Value>(&body, Scope::Object);
    match (&stepped_over, &typed) {
        (Ok(stepped_over), Ok((typed, change))) => {
            assert_eq!(stepped_over.uid(), typed.uid());
            assert_eq!(stepped_over.object(), typed.object());
            if let (Ok(change), Some(object)) = (change, typed.object())
                && typed.operation() != kubewright_review::Operation::Delete
            {
                same(change.object().clone(), object);
            }
        }
        (Err(one), Err(other)) => assert_eq!(one, other),
        _ => panic!("one reading takes what the other refuses: {stepped_over:?} {typed:?}"),
    }
    let _ = AdmissionReview::read_typed::<Value>(&body, Scope::Metadata);
}

/// What was read is what serde_json reads, but for managed fields, lone surrogates and the last digit of numbers.
fn same(mut own: Value, text: &str) {
    let Ok(mut theirs) = serde_json::from_str::<Value>(text) else {
        return;
    };
    if let Some(metadata) = theirs.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("managedFields");
    }
    forget_fractions(&mut own);
    forget_fractions(&mut theirs);
    assert_eq!(own, theirs);
}

fn forget_fractions(value: &mut Value) {
    match value {
        Value::Number(number) if number.is_f64() => *value = Value::Null,
        // Zero with a sign is a whole number here and a fraction there.
        Value::Number(number) if number.as_u64() == Some(0) => *value = Value::Null,
        Value::Array(elements) => elements.iter_mut().for_each(forget_fractions),
        Value::Object(members) => members.values_mut().for_each(forget_fractions),
        _ => {}
    }
}

/// Bytes are a raw object, a NUL, and the object that a handler makes of it.
pub(crate) fn graft(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    let Some((raw, after)) = text.split_once('\0') else {
        return;
    };
    let (Ok(mut raw), Ok(after)) = (
        serde_json::from_str::<Value>(raw),
        serde_json::from_str::<Value>(after),
    ) else {
        return;
    };
    if !raw.is_object() || !after.is_object() {
        return;
    }
    let body = format!(
        r#"{{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{{"uid":"u","operation":"CREATE","object":{raw}}}}}"#
    );
    let body = Body::new(body.into_bytes()).unwrap();
    let Ok((review, change)) = AdmissionReview::read_typed::<Value>(&body, Scope::Object) else {
        return;
    };
    let Ok(Change::Create(before)) = change else {
        return;
    };
    let image = Image::of(&before, 0).unwrap();
    let patch = review.graft(&image, &image.then(&after).unwrap()).unwrap();
    review.check(&patch).unwrap();
    let changed = review.changed_by(&patch).unwrap();
    let operations: json_patch::Patch = serde_json::from_slice(&patch.to_json()).unwrap();
    json_patch::patch(&mut raw, &operations).unwrap();
    let own: Value = serde_json::from_str(changed.object().unwrap()).unwrap();
    assert_eq!(own, raw);
    if before.pointer("/metadata/managedFields").is_none()
        && raw.pointer("/metadata/managedFields").is_none()
    {
        assert_eq!(raw, after);
    }
}
