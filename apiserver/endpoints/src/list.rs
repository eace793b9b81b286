//! The text of a list, put together piece by piece as the client reads it: a long one is never in memory as a whole.

use std::io;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use kubewright_storage::Object;

/// How much is put together at once.
const PIECE: usize = 64 * 1024;

/// The stored JSON of objects, with the metadata of their list around it. Nothing is parsed or encoded again.
pub(crate) struct List {
    head: Bytes,
    objects: Vec<Arc<Object>>,
    items: Items,
    tail: Bytes,
    /// The number of the part that comes next: the head, the objects, the tail.
    next: usize,
    /// How many bytes there are from that part on.
    left: u64,
}

/// What an item of a list says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Items {
    /// All of the object.
    Whole,
    /// The object without `kind` and `apiVersion`, which the list says once.
    WithoutKind,
}

impl List {
    pub(crate) fn new(head: String, objects: Vec<Arc<Object>>, items: Items, tail: String) -> Self {
        let mut list = Self {
            head: head.into(),
            objects,
            items,
            tail: tail.into(),
            next: 0,
            left: 0,
        };
        list.left = list.parts().map(|part| part.length() as u64).sum();
        list
    }

    /// How many bytes are still to come.
    pub(crate) fn left(&self) -> u64 {
        self.left
    }

    /// The text of what is still to come.
    pub(crate) fn text(&self) -> Bytes {
        let mut text = BytesMut::with_capacity(usize::try_from(self.left).unwrap_or_default());
        for bytes in self.parts().flat_map(Part::bytes) {
            text.extend_from_slice(bytes);
        }
        text.freeze()
    }

    /// Writes the text of what is still to come.
    ///
    /// # Errors
    /// It cannot be written.
    pub(crate) fn write_to(&self, to: &mut impl io::Write) -> io::Result<()> {
        let mut parts = self.parts().flat_map(Part::bytes);
        parts.try_for_each(|bytes| to.write_all(bytes))
    }

    /// The next piece of the text; none at its end.
    pub(crate) fn piece(&mut self) -> Option<Bytes> {
        let mut piece = BytesMut::new();
        let mut taken = 0;
        for part in self.parts() {
            if taken == 0 {
                let left = usize::try_from(self.left).unwrap_or(PIECE);
                piece.reserve(left.min(PIECE.max(part.length())));
            } else if piece.len() + part.length() > PIECE {
                break;
            }
            for bytes in part.bytes() {
                piece.extend_from_slice(bytes);
            }
            taken += 1;
        }
        self.next += taken;
        self.left -= piece.len() as u64;
        (taken > 0).then(|| piece.freeze())
    }

    /// The parts that are still to come.
    fn parts(&self) -> impl Iterator<Item = Part<'_>> {
        let count = self.objects.len() + 2;
        (self.next..count).map(move |number| match number.checked_sub(1) {
            None => Part::text(&self.head),
            Some(index) => match self.objects.get(index) {
                Some(object) => self.item(index, object),
                None => Part::text(&self.tail),
            },
        })
    }

    fn item<'a>(&self, index: usize, object: &'a Object) -> Part<'a> {
        let (between, text) = match (self.items, index) {
            (Items::Whole, 0) => ("", object.json()),
            (Items::Whole, _) => (",", object.json()),
            (Items::WithoutKind, 0) => ("{", object.item()),
            (Items::WithoutKind, _) => (",{", object.item()),
        };
        Part { between, text }
    }
}

/// The head, the tail, or an item with what parts it from the one before.
struct Part<'a> {
    between: &'static str,
    text: &'a [u8],
}

impl<'a> Part<'a> {
    fn text(text: &'a [u8]) -> Self {
        Self { between: "", text }
    }

    fn length(&self) -> usize {
        self.between.len() + self.text.len()
    }

    fn bytes(self) -> [&'a [u8]; 2] {
        [self.between.as_bytes(), self.text]
    }
}

#[cfg(test)]
mod tests {
    use kubewright_storage::Draft;
    use serde_json::{Value, json};

    use super::*;

    fn list(sizes: &[usize], items: Items) -> List {
        let object = |size: &usize| {
            let data = json!({ "text": "x".repeat(*size) });
            let object =
                json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": {}, "data": data });
            Arc::new(Draft::new(&object).unstored("a".to_owned()))
        };
        let objects = sizes.iter().map(object).collect();
        List::new("{\"items\":[".to_owned(), objects, items, "]}\n".to_owned())
    }

    #[test]
    fn the_pieces_make_the_text() {
        for items in [Items::Whole, Items::WithoutKind] {
            for sizes in [
                &[][..],
                &[1],
                &[30_000; 9],
                &[1, 200_000, 1, 200_000],
                &[PIECE; 3],
            ] {
                let mut list = list(sizes, items);
                let (whole, length) = (list.text(), list.left());
                let mut written = Vec::new();
                list.write_to(&mut written).unwrap();
                assert_eq!(whole.len() as u64, length);
                let mut pieces = Vec::new();
                while let Some(piece) = list.piece() {
                    assert!(piece.len() <= PIECE.max(200_100), "{}", piece.len());
                    pieces.extend_from_slice(&piece);
                    assert_eq!(list.left() + pieces.len() as u64, length);
                }
                assert_eq!(pieces, whole);
                assert_eq!(list.piece(), None);
                assert_eq!(written, whole);
                let read: Value = serde_json::from_slice(&whole).unwrap();
                assert_eq!(read["items"].as_array().unwrap().len(), sizes.len());
            }
        }
    }

    #[test]
    fn an_item_says_its_kind_or_leaves_it_to_the_list() {
        let items = |items| {
            let text = list(&[1], items).text();
            serde_json::from_slice::<Value>(&text).unwrap()["items"][0]["kind"].clone()
        };
        assert_eq!(items(Items::Whole), "ConfigMap");
        assert_eq!(items(Items::WithoutKind), Value::Null);
    }
}
