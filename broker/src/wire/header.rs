//! The header of a request, read without knowing the API.

use super::reader::{Malformed, Reader};
use super::shape::skip_tags;

/// What every request starts with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RequestHeader {
    pub(crate) api_key: i16,
    pub(crate) version: i16,
    /// Repeated in the answer.
    pub(crate) correlation_id: i32,
}

impl RequestHeader {
    /// Bytes that header versions 1 and 2 have in common.
    const FIXED_LEN: usize = 8;

    /// Reads the part that no version changes.
    pub(crate) fn read(frame: &[u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(frame);
        Ok(Self { api_key: reader.i16()?, version: reader.i16()?, correlation_id: reader.i32()? })
    }

    /// What the client calls itself; empty if it does not say, or not in UTF-8.
    pub(crate) fn client_id(frame: &[u8]) -> &str {
        let name = || -> Result<&[u8], Malformed> {
            let mut reader = Reader::new(frame);
            reader.take(Self::FIXED_LEN)?;
            let len = usize::try_from(reader.i16()?).unwrap_or(0);
            reader.take(len)
        };
        name().ok().and_then(|name| std::str::from_utf8(name).ok()).unwrap_or_default()
    }

    /// Position of the body: behind the client's name and, in header version 2, tagged fields.
    pub(crate) fn body_position(frame: &[u8], header_version: i16) -> Result<usize, Malformed> {
        let mut reader = Reader::new(frame);
        reader.take(Self::FIXED_LEN)?;
        let at = reader.at();
        let name = reader.i16()?;
        let name = reader.length(at, name.into())?;
        reader.take(name.unwrap_or(0))?;
        if header_version >= 2 {
            skip_tags(&mut reader)?;
        }
        Ok(reader.at())
    }
}

#[cfg(test)]
mod tests {
    use bytes::BytesMut;
    use kafka_protocol::messages::RequestHeader as Encoded;
    use kafka_protocol::protocol::{Encodable, StrBytes};
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_body_is_found_behind_every_header() {
        for (version, name) in [(1, None), (1, Some("kcat")), (2, None), (2, Some("rdkafka"))] {
            let mut bytes = BytesMut::new();
            let header = Encoded::default().with_request_api_key(3).with_request_api_version(9).with_correlation_id(-7);
            header.with_client_id(name.map(StrBytes::from_static_str)).encode(&mut bytes, version).unwrap();
            let len = bytes.len();
            assert_eq!(RequestHeader::read(&bytes), Ok(RequestHeader { api_key: 3, version: 9, correlation_id: -7 }));
            assert_eq!(RequestHeader::body_position(&bytes, version), Ok(len));
            assert_eq!(RequestHeader::client_id(&bytes), name.unwrap_or_default());
        }
    }

    proptest! {
        #[test]
        fn arbitrary_headers_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..64), version in 1i16..3) {
            let _ = RequestHeader::read(&bytes);
            let _ = RequestHeader::client_id(&bytes);
            let _ = RequestHeader::body_position(&bytes, version);
        }
    }
}
