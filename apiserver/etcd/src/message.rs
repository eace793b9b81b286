//! The messages of etcd's API (`rpc.proto` and `kv.proto` of etcd v3) that a backend needs.

use bytes::Bytes;

use crate::wire::{Malformed, Writer, read};

/// What to read: all keys from `key` up to `end`, or the key alone if there is no end.
#[derive(Debug, Default)]
pub(crate) struct Range<'a> {
    pub(crate) key: &'a [u8],
    pub(crate) end: &'a [u8],
    /// The number of entries; 0 for all.
    pub(crate) limit: u64,
    /// The revision to read at; 0 for the present.
    pub(crate) revision: u64,
    pub(crate) count_only: bool,
}

/// What a transaction compares of a key.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Compare {
    /// The number of changes since it was created.
    Version(u64),
    /// The revision of its last change.
    ModRevision(u64),
}

/// What a transaction does if the comparison holds. Otherwise it reads the key.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Then<'a> {
    Put(&'a [u8]),
    Delete,
}

#[derive(Debug, Default)]
pub(crate) struct RangeResponse {
    pub(crate) revision: u64,
    pub(crate) entries: Vec<KeyValue>,
    pub(crate) more: bool,
}

#[derive(Debug, Default)]
pub(crate) struct TxnResponse {
    pub(crate) revision: u64,
    pub(crate) succeeded: bool,
    /// The key as it is, if the comparison did not hold and it exists.
    pub(crate) found: Option<KeyValue>,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct KeyValue {
    pub(crate) key: Bytes,
    pub(crate) value: Bytes,
    pub(crate) mod_revision: u64,
    pub(crate) version: u64,
}

#[derive(Debug, Default)]
pub(crate) struct WatchResponse {
    pub(crate) revision: u64,
    pub(crate) created: bool,
    pub(crate) canceled: bool,
    /// The revision that the watch would have to begin after, if it begins too early.
    pub(crate) compact_revision: u64,
    pub(crate) cancel_reason: String,
    /// Whether the next response goes on with the changes of this one.
    pub(crate) fragment: bool,
    pub(crate) events: Vec<Event>,
}

#[derive(Debug, Default)]
pub(crate) struct Event {
    pub(crate) is_delete: bool,
    pub(crate) entry: KeyValue,
}

impl Range<'_> {
    fn write(&self) -> Writer {
        let mut writer = Writer::default().bytes(1, self.key);
        if !self.end.is_empty() {
            writer = writer.bytes(2, self.end);
        }
        writer
            .number(3, self.limit)
            .number(4, self.revision)
            .flag(9, self.count_only)
    }

    pub(crate) fn encode(&self) -> Vec<u8> {
        self.write().into_bytes()
    }
}

/// A transaction on one key.
pub(crate) fn txn(key: &[u8], compare: Compare, then: Then<'_>) -> Vec<u8> {
    let compared = match compare {
        Compare::Version(version) => Writer::default().bytes(3, key).number(4, version),
        Compare::ModRevision(revision) => Writer::default()
            .number(2, 2)
            .bytes(3, key)
            .number(6, revision),
    };
    let success = match then {
        Then::Put(value) => {
            let put = Writer::default().bytes(1, key).bytes(2, value);
            Writer::default().message(2, put)
        }
        Then::Delete => Writer::default().message(3, Writer::default().bytes(1, key)),
    };
    let range = Range {
        key,
        ..Range::default()
    };
    let failure = Writer::default().message(1, range.write());
    Writer::default()
        .message(1, compared)
        .message(2, success)
        .message(3, failure)
        .into_bytes()
}

pub(crate) fn compact(revision: u64) -> Vec<u8> {
    Writer::default().number(1, revision).into_bytes()
}

/// A watch of all keys from `key` up to `end`, from a revision on.
pub(crate) fn watch(key: &[u8], end: &[u8], start_revision: u64) -> Vec<u8> {
    let create = Writer::default()
        .bytes(1, key)
        .bytes(2, end)
        .number(3, start_revision)
        .flag(4, true)
        .flag(8, true);
    Writer::default().message(1, create).into_bytes()
}

/// Asks how far the watches of a stream have come.
pub(crate) fn progress() -> Vec<u8> {
    Writer::default().message(3, Writer::default()).into_bytes()
}

/// The revision of a response's header.
fn revision(header: &Bytes) -> Result<u64, Malformed> {
    let mut revision = 0;
    read(header, |number, field| {
        if number == 3 {
            revision = field.number()?;
        }
        Ok(())
    })?;
    Ok(revision)
}

impl KeyValue {
    fn decode(message: &Bytes) -> Result<Self, Malformed> {
        let mut entry = Self::default();
        read(message, |number, field| {
            match number {
                1 => entry.key = field.bytes()?,
                3 => entry.mod_revision = field.number()?,
                4 => entry.version = field.number()?,
                5 => entry.value = field.bytes()?,
                _ => {}
            }
            Ok(())
        })?;
        Ok(entry)
    }
}

impl RangeResponse {
    pub(crate) fn decode(message: &Bytes) -> Result<Self, Malformed> {
        let mut response = Self::default();
        read(message, |number, field| {
            match number {
                1 => response.revision = revision(&field.bytes()?)?,
                2 => response.entries.push(KeyValue::decode(&field.bytes()?)?),
                3 => response.more = field.flag()?,
                _ => {}
            }
            Ok(())
        })?;
        Ok(response)
    }
}

impl TxnResponse {
    pub(crate) fn decode(message: &Bytes) -> Result<Self, Malformed> {
        let mut response = Self::default();
        read(message, |number, field| {
            match number {
                1 => response.revision = revision(&field.bytes()?)?,
                2 => response.succeeded = field.flag()?,
                3 => read(&field.bytes()?, |number, field| {
                    // Of the responses, only that of a range has entries.
                    if number == 1 {
                        let found = RangeResponse::decode(&field.bytes()?)?;
                        response.found = found.entries.into_iter().next();
                    }
                    Ok(())
                })?,
                _ => {}
            }
            Ok(())
        })?;
        Ok(response)
    }
}

impl WatchResponse {
    pub(crate) fn decode(message: &Bytes) -> Result<Self, Malformed> {
        let mut response = Self::default();
        read(message, |number, field| {
            match number {
                1 => response.revision = revision(&field.bytes()?)?,
                3 => response.created = field.flag()?,
                4 => response.canceled = field.flag()?,
                5 => response.compact_revision = field.number()?,
                6 => response.cancel_reason = String::from_utf8_lossy(&field.bytes()?).into_owned(),
                7 => response.fragment = field.flag()?,
                11 => response.events.push(Event::decode(&field.bytes()?)?),
                _ => {}
            }
            Ok(())
        })?;
        Ok(response)
    }
}

impl Event {
    fn decode(message: &Bytes) -> Result<Self, Malformed> {
        let mut event = Self::default();
        read(message, |number, field| {
            match number {
                1 => event.is_delete = field.number()? == 1,
                2 => event.entry = KeyValue::decode(&field.bytes()?)?,
                _ => {}
            }
            Ok(())
        })?;
        Ok(event)
    }
}
