//! A put's body: the chunks as they are, with their exact length.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use aws_sdk_s3::primitives::{ByteStream, SdkBody};
use bytes::Bytes;
use http_body::{Frame, SizeHint};

use crate::store::Body;

struct Chunks {
    chunks: Arc<Vec<Bytes>>,
    next: usize,
    left: u64,
}

impl http_body::Body for Chunks {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        while let Some(chunk) = self.chunks.get(self.next).cloned() {
            self.next += 1;
            if !chunk.is_empty() {
                self.left -= chunk.len() as u64;
                return Poll::Ready(Some(Ok(Frame::data(chunk))));
            }
        }
        Poll::Ready(None)
    }

    fn is_end_stream(&self) -> bool {
        self.left == 0
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.left)
    }
}

/// The body as the SDK takes it; it is not in one piece, so the SDK leaves the payload out of the signature.
pub(super) fn stream(body: &Body) -> ByteStream {
    let (chunks, left) = (body.shared_chunks(), body.len());
    ByteStream::new(SdkBody::retryable(move || SdkBody::from_body_1_x(Chunks { chunks: chunks.clone(), next: 0, left })))
}
