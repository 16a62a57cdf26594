//! The shape of a request, checked before it is decoded.
//!
//! The codec reserves room for as many elements as an array's length field claims, and reads some tagged
//! fields without looking at their stated size: four bytes of a stranger could then ask for gigabytes. So a
//! request is first walked along its schema. What passes has as many elements as it claims, no more of them
//! than [`MAX_ELEMENTS`], and the codec reads it exactly as the walk did. On the way the walk notes where the
//! record sets lie, so that they can be cut out of the frame without a copy.

use std::ops::Range;

use super::reader::{Malformed, Reader};

/// Array elements and tagged fields of one request at most: bounds what decoding can take.
pub(crate) const MAX_ELEMENTS: usize = 1 << 17;

/// A type of the protocol, as far as its size goes.
#[derive(Debug)]
pub(crate) enum Kind {
    /// So many bytes.
    Fixed(usize),
    /// A string; perhaps null.
    Text,
    /// Bytes; perhaps null.
    Bytes,
    /// A record set; perhaps null.
    Records,
    /// An array; perhaps null.
    Array(&'static Kind),
    /// A structure.
    Struct(&'static Struct),
    /// A structure; perhaps null.
    Nullable(&'static Struct),
}

/// The fields of a structure, in order.
#[derive(Debug)]
pub(crate) struct Struct {
    pub(crate) fields: &'static [Field],
    /// Tagged fields that the codec knows.
    pub(crate) tags: &'static [Tag],
}

/// A field, from version `since` to `until`.
#[derive(Debug)]
pub(crate) struct Field {
    pub(crate) since: i16,
    pub(crate) until: i16,
    pub(crate) kind: Kind,
}

/// A tagged field, from version `since` on.
#[derive(Debug)]
pub(crate) struct Tag {
    pub(crate) tag: u32,
    pub(crate) since: i16,
    pub(crate) kind: Kind,
}

/// A request.
#[derive(Debug)]
pub(crate) struct Shape {
    /// First version with compact lengths and tagged fields.
    pub(crate) flexible: i16,
    pub(crate) body: Struct,
}

impl Shape {
    /// Checks the body of a request, and tells where in it the record sets lie, in order; `None` for a null one.
    pub(crate) fn check(&'static self, body: &[u8], version: i16) -> Result<Vec<Option<Range<usize>>>, Malformed> {
        let flexible = version >= self.flexible;
        let mut walk = Walk { reader: Reader::new(body), version, flexible, elements: 0, records: Vec::new() };
        walk.structure(&self.body)?;
        Ok(walk.records)
    }
}

/// Skips the tagged fields of a request header.
pub(crate) fn skip_tags(reader: &mut Reader<'_>) -> Result<(), Malformed> {
    for _ in 0..reader.varint()? {
        reader.varint()?;
        let size = reader.varint()? as usize;
        reader.take(size)?;
    }
    Ok(())
}

struct Walk<'a> {
    reader: Reader<'a>,
    version: i16,
    flexible: bool,
    elements: usize,
    records: Vec<Option<Range<usize>>>,
}

impl Walk<'_> {
    fn kind(&mut self, kind: &'static Kind) -> Result<(), Malformed> {
        match kind {
            Kind::Fixed(len) => self.reader.take(*len).map(drop),
            Kind::Text => self.text(),
            Kind::Bytes => self.bytes().map(drop),
            Kind::Records => self.record_set(),
            Kind::Array(element) => self.array(element),
            Kind::Struct(structure) => self.structure(structure),
            Kind::Nullable(structure) => self.nullable(structure),
        }
    }

    fn structure(&mut self, structure: &'static Struct) -> Result<(), Malformed> {
        for field in structure.fields {
            if (field.since..=field.until).contains(&self.version) {
                self.kind(&field.kind)?;
            }
        }
        if self.flexible { self.tags(structure.tags) } else { Ok(()) }
    }

    /// A byte says whether it is there: 1, or -1 for null. What else it could be the codec takes for null too.
    fn nullable(&mut self, structure: &'static Struct) -> Result<(), Malformed> {
        let there = self.reader.take(1)? == [1];
        if there { self.structure(structure) } else { Ok(()) }
    }

    fn text(&mut self) -> Result<(), Malformed> {
        let at = self.reader.at();
        let len = if self.flexible {
            self.reader.compact_length()?
        } else {
            let len = self.reader.i16()?;
            self.reader.length(at, len.into())?
        };
        self.reader.take(len.unwrap_or(0)).map(drop)
    }

    fn long_length(&mut self) -> Result<Option<usize>, Malformed> {
        if self.flexible {
            return self.reader.compact_length();
        }
        let at = self.reader.at();
        let len = self.reader.i32()?;
        self.reader.length(at, len.into())
    }

    fn bytes(&mut self) -> Result<Option<Range<usize>>, Malformed> {
        let Some(len) = self.long_length()? else { return Ok(None) };
        let start = self.reader.at();
        self.reader.take(len)?;
        Ok(Some(start..start + len))
    }

    fn record_set(&mut self) -> Result<(), Malformed> {
        let range = self.bytes()?;
        self.records.push(range);
        Ok(())
    }

    fn array(&mut self, element: &'static Kind) -> Result<(), Malformed> {
        let count = self.long_length()?.unwrap_or(0);
        if count > self.reader.left() {
            return Err(Malformed::Short { at: self.reader.at(), needed: count, left: self.reader.left() });
        }
        for _ in 0..count {
            self.count_element()?;
            self.kind(element)?;
        }
        Ok(())
    }

    fn tags(&mut self, known: &'static [Tag]) -> Result<(), Malformed> {
        for _ in 0..self.reader.varint()? {
            self.count_element()?;
            let tag = self.reader.varint()?;
            let size = self.reader.varint()? as usize;
            match known.iter().find(|k| k.tag == tag && k.since <= self.version) {
                None => self.reader.take(size).map(drop)?,
                Some(known) => self.known_tag(known, size)?,
            }
        }
        Ok(())
    }

    fn known_tag(&mut self, known: &'static Tag, found: usize) -> Result<(), Malformed> {
        let at = self.reader.at();
        self.kind(&known.kind)?;
        let expected = self.reader.at() - at;
        if expected == found { Ok(()) } else { Err(Malformed::TagLength { at, tag: known.tag, expected, found }) }
    }

    fn count_element(&mut self) -> Result<(), Malformed> {
        self.elements += 1;
        if self.elements > MAX_ELEMENTS {
            return Err(Malformed::TooManyElements { at: self.reader.at(), limit: MAX_ELEMENTS });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
