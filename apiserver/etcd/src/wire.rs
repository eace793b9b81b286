//! The wire format of protobuf, as far as etcd's messages need it.

use bytes::Bytes;

/// Writes the fields of one message.
#[derive(Debug, Default)]
pub(crate) struct Writer(Vec<u8>);

/// The value of a field.
#[derive(Debug)]
pub(crate) enum Field {
    Number(u64),
    Bytes(Bytes),
}

/// A message is cut short, or is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Malformed;

const VARINT: u32 = 0;
const FIXED_64: u32 = 1;
const BYTES: u32 = 2;
const FIXED_32: u32 = 5;

impl Writer {
    /// Numbers that are zero are left out, as protobuf does.
    pub(crate) fn number(mut self, field: u32, number: u64) -> Self {
        if number > 0 {
            self.varint(u64::from(field << 3 | VARINT));
            self.varint(number);
        }
        self
    }

    pub(crate) fn flag(self, field: u32, flag: bool) -> Self {
        self.number(field, flag.into())
    }

    pub(crate) fn bytes(mut self, field: u32, bytes: &[u8]) -> Self {
        self.varint(u64::from(field << 3 | BYTES));
        self.varint(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
        self
    }

    #[expect(
        clippy::needless_pass_by_value,
        reason = "a message is written for the one that it is part of"
    )]
    pub(crate) fn message(self, field: u32, message: Self) -> Self {
        self.bytes(field, &message.0)
    }

    pub(crate) fn into_bytes(self) -> Vec<u8> {
        self.0
    }

    fn varint(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.0.push(number.to_le_bytes()[0] | 0x80);
            number >>= 7;
        }
        self.0.push(number.to_le_bytes()[0]);
    }
}

/// Calls `each` with the number and the value of every field.
///
/// # Errors
/// The message is malformed, or `each` says so.
pub(crate) fn read(
    message: &Bytes,
    mut each: impl FnMut(u32, Field) -> Result<(), Malformed>,
) -> Result<(), Malformed> {
    let mut rest: &[u8] = message;
    while !rest.is_empty() {
        let tag = varint(&mut rest)?;
        let number = u32::try_from(tag >> 3).map_err(|_| Malformed)?;
        match (tag & 7) as u32 {
            VARINT => each(number, Field::Number(varint(&mut rest)?))?,
            BYTES => {
                let length = usize::try_from(varint(&mut rest)?).map_err(|_| Malformed)?;
                let bytes = take(&mut rest, length)?;
                each(number, Field::Bytes(message.slice_ref(bytes)))?;
            }
            // etcd's messages have no fields of fixed size: they are of a version to come.
            FIXED_64 => drop(take(&mut rest, 8)?),
            FIXED_32 => drop(take(&mut rest, 4)?),
            _ => return Err(Malformed),
        }
    }
    Ok(())
}

impl Field {
    pub(crate) fn number(self) -> Result<u64, Malformed> {
        match self {
            Self::Number(number) => Ok(number),
            Self::Bytes(_) => Err(Malformed),
        }
    }

    pub(crate) fn flag(self) -> Result<bool, Malformed> {
        self.number().map(|number| number != 0)
    }

    pub(crate) fn bytes(self) -> Result<Bytes, Malformed> {
        match self {
            Self::Bytes(bytes) => Ok(bytes),
            Self::Number(_) => Err(Malformed),
        }
    }
}

fn varint(rest: &mut &[u8]) -> Result<u64, Malformed> {
    let mut number = 0;
    for at in 0..10 {
        let byte = *take(rest, 1)?.first().ok_or(Malformed)?;
        number |= u64::from(byte & 0x7f) << (7 * at);
        if byte & 0x80 == 0 {
            return Ok(number);
        }
    }
    Err(Malformed)
}

fn take<'a>(rest: &mut &'a [u8], length: usize) -> Result<&'a [u8], Malformed> {
    let (taken, left) = rest.split_at_checked(length).ok_or(Malformed)?;
    *rest = left;
    Ok(taken)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_is_read_and_unknown_fields_are_skipped() {
        let inner = Writer::default().number(3, u64::MAX).flag(4, true);
        let mut written = Writer::default()
            .number(1, 300)
            .message(2, inner)
            .bytes(5, b"x")
            .0;
        // A field of eight bytes, of a version to come.
        written.extend([6 << 3 | 1, 1, 2, 3, 4, 5, 6, 7, 8]);
        let mut seen = Vec::new();
        read(&Bytes::from(written), |number, field| {
            seen.push(match field {
                Field::Number(value) => format!("{number}={value}"),
                Field::Bytes(bytes) => format!("{number}:{}", bytes.len()),
            });
            Ok(())
        })
        .unwrap();
        assert_eq!(seen, ["1=300", "2:13", "5:1"]);
    }

    #[test]
    fn a_message_that_is_cut_short_is_malformed_wherever_it_is_cut() {
        let whole = Bytes::from(Writer::default().number(1, 300).bytes(2, b"abc").0);
        let cuts = (0..whole.len()).filter(|at| read(&whole.slice(..*at), |_, _| Ok(())).is_ok());
        assert_eq!(cuts.collect::<Vec<_>>(), [0, 3]);
        let endless = Bytes::from_static(&[
            0x08, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1,
        ]);
        assert_eq!(read(&endless, |_, _| Ok(())), Err(Malformed));
    }
}
