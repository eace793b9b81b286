//! The wire format of protobuf: tags, varints, and bytes with their length.

use super::error::DecodeError;

/// Reads the fields of one message, in the order in which they stand.
pub(super) struct Reader<'a> {
    bytes: &'a [u8],
}

/// The value of a field, as it stands on the wire.
#[derive(Clone, Copy)]
pub(super) enum Wire<'a> {
    Varint(u64),
    Fixed64(u64),
    Bytes(&'a [u8]),
    Fixed32(u32),
}

const CUT_SHORT: DecodeError = DecodeError::Malformed("it is cut short");
const WRONG_TYPE: DecodeError = DecodeError::Malformed("a field has the wrong wire type");

impl<'a> Reader<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes }
    }

    /// The next field's number and value; none at the end.
    pub(super) fn field(&mut self) -> Result<Option<(u32, Wire<'a>)>, DecodeError> {
        if self.bytes.is_empty() {
            return Ok(None);
        }
        let tag = self.varint()?;
        let number = u32::try_from(tag >> 3)
            .ok()
            .filter(|number| *number > 0)
            .ok_or(DecodeError::Malformed("a field has an impossible number"))?;
        let value = match tag & 7 {
            0 => Wire::Varint(self.varint()?),
            1 => Wire::Fixed64(u64::from_le_bytes(self.array()?)),
            2 => {
                let length = usize::try_from(self.varint()?).map_err(|_| CUT_SHORT)?;
                Wire::Bytes(self.take(length)?)
            }
            5 => Wire::Fixed32(u32::from_le_bytes(self.array()?)),
            _ => return Err(DecodeError::Malformed("a field has an unknown wire type")),
        };
        Ok(Some((number, value)))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    pub(super) fn varint(&mut self) -> Result<u64, DecodeError> {
        let mut value = 0_u64;
        for (at, byte) in self.bytes.iter().enumerate().take(10) {
            value |= u64::from(byte & 0x7f) << (7 * at);
            if byte & 0x80 == 0 {
                self.bytes = &self.bytes[at + 1..];
                return Ok(value);
            }
        }
        Err(if self.bytes.len() < 10 {
            CUT_SHORT
        } else {
            DecodeError::Malformed("a number is too long")
        })
    }

    pub(super) fn array<const N: usize>(&mut self) -> Result<[u8; N], DecodeError> {
        let bytes = self.take(N)?;
        bytes.try_into().map_err(|_| CUT_SHORT)
    }

    fn take(&mut self, length: usize) -> Result<&'a [u8], DecodeError> {
        let (head, rest) = self.bytes.split_at_checked(length).ok_or(CUT_SHORT)?;
        self.bytes = rest;
        Ok(head)
    }
}

impl<'a> Wire<'a> {
    pub(super) fn bytes(self) -> Result<&'a [u8], DecodeError> {
        match self {
            Self::Bytes(bytes) => Ok(bytes),
            _ => Err(WRONG_TYPE),
        }
    }

    /// Text; what is no UTF-8 in it is replaced, as JSON has no way to hold it.
    pub(super) fn text(self) -> Result<String, DecodeError> {
        Ok(String::from_utf8_lossy(self.bytes()?).into_owned())
    }

    pub(super) fn varint(self) -> Result<u64, DecodeError> {
        match self {
            Self::Varint(value) => Ok(value),
            _ => Err(WRONG_TYPE),
        }
    }

    pub(super) fn float(self) -> Result<f64, DecodeError> {
        match self {
            Self::Fixed64(bits) => Ok(f64::from_bits(bits)),
            Self::Fixed32(bits) => Ok(f64::from(f32::from_bits(bits))),
            _ => Err(WRONG_TYPE),
        }
    }
}
