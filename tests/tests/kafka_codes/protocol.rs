//! Frames and headers, whatever the API.

use bytes::{BufMut, Bytes, BytesMut};
use kafka_protocol::messages::{ApiVersionsRequest, RequestHeader};
use kafka_protocol::protocol::{Encodable, StrBytes};

use crate::seen::Seen;

/// A request's header, of version 1 or 2.
fn header(key: i16, version: i16, header_version: i16) -> BytesMut {
    let mut frame = BytesMut::new();
    let header = RequestHeader::default().with_request_api_key(key).with_request_api_version(version).with_correlation_id(7);
    header.encode(&mut frame, header_version).expect("a header can be written");
    frame
}

fn with(mut frame: BytesMut, body: &[u8]) -> Bytes {
    frame.put_slice(body);
    frame.freeze()
}

pub async fn cases(seen: &mut Seen) -> anyhow::Result<()> {
    for (what, key, version) in [
        ("api key 999", 999, 0),
        ("api key -1", -1, 0),
        ("produce 2", 0, 2),
        ("produce 99", 0, 99),
        ("fetch 3", 1, 3),
        ("fetch 99", 1, 99),
        ("metadata 99", 3, 99),
        ("metadata -1", 3, -1),
        ("leader and isr 0", 4, 0),
    ] {
        seen.raw(&format!("protocol: {what} is not served"), None, &with(header(key, version, 1), &[0; 16])).await?;
    }
    for (version, header_version) in [(9, 2), (i16::MAX, 2), (-1, 1)] {
        seen.raw(&format!("protocol: api versions {version}"), None, &with(header(18, version, header_version), b"unknown")).await?;
    }
    for (what, software, version) in
        [("good", "rdkafka", "2.0"), ("empty", "", "1"), ("strange", "a b", "1"), ("a version of signs", "a", "$$")]
    {
        let text = |text: &str| StrBytes::from_string(text.into());
        let request = ApiVersionsRequest::default().with_client_software_name(text(software)).with_client_software_version(text(version));
        seen.ask(&format!("protocol: client software {what}"), 3, &request, |response| response.error_code.to_string()).await?;
    }
    let metadata = header(3, 1, 1);
    let bodies: [(&str, &[u8]); 5] = [
        ("without a body", &[]),
        ("with an array of 2^31-1", &[0x7f, 0xff, 0xff, 0xff]),
        ("with an array of -2", &[0xff, 0xff, 0xff, 0xfe]),
        ("with a name of -5 bytes", &[0, 0, 0, 1, 0xff, 0xfb]),
        ("with a name cut short", &[0, 0, 0, 1, 0, 9, b'a']),
    ];
    for (what, body) in bodies {
        seen.raw(&format!("protocol: metadata {what}"), None, &with(metadata.clone(), body)).await?;
    }
    seen.raw("protocol: bytes behind a request", None, &with(metadata.clone(), &[0, 0, 0, 0, 1, 2, 3])).await?;
    for length in [-1, 0, i32::MAX, i32::MIN] {
        seen.raw(&format!("protocol: frame of {length} bytes"), Some(length), &[]).await?;
    }
    seen.raw("protocol: half a header", None, &metadata[..6]).await?;
    seen.raw("protocol: client name of -5 bytes", None, &[0, 18, 0, 0, 0, 0, 0, 7, 0xff, 0xfb]).await
}
