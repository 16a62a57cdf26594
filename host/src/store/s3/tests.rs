//! On a scripted HTTP connection, in virtual time; `tests/` has the same store against a real server.

use std::collections::BTreeSet;
use std::pin::Pin;
use std::task::{Context, Poll};

use aws_sdk_s3::primitives::SdkBody;
use aws_smithy_runtime_api::client::http::{HttpConnector, HttpConnectorFuture, SharedHttpConnector, http_client_fn};
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use bytes::Bytes;
use http_body::Frame;
use parking_lot::Mutex;

use super::*;
use crate::env;

/// Answers requests; what it is shown is kept.
type Server = dyn Fn(usize, &HttpRequest) -> HttpResponse + Send + Sync;

struct Wire {
    server: Box<Server>,
    requests: Mutex<Vec<HttpRequest>>,
}

impl std::fmt::Debug for Wire {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Wire")
    }
}

#[derive(Clone, Debug)]
struct Connector(Arc<Wire>);

impl HttpConnector for Connector {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let mut requests = self.0.requests.lock();
        let response = (self.0.server)(requests.len(), &request);
        requests.push(request);
        HttpConnectorFuture::ready(Ok(response))
    }
}

impl Wire {
    fn header(&self, request: usize, name: &str) -> Option<String> {
        self.requests.lock()[request].headers().get(name).map(str::to_owned)
    }

    fn count(&self) -> usize {
        self.requests.lock().len()
    }
}

fn store(server: impl Fn(usize, &HttpRequest) -> HttpResponse + Send + Sync + 'static) -> (S3Store, Arc<Wire>) {
    let wire = Arc::new(Wire { server: Box::new(server), requests: Mutex::default() });
    let connector = SharedHttpConnector::new(Connector(wire.clone()));
    let settings = S3Settings {
        bucket: "bucket".into(),
        prefix: "some/prefix".into(),
        endpoint: Some("http://127.0.0.1:1".into()),
        access_key: Some("a".into()),
        secret_key: Some("s".into()),
        ..S3Settings::default()
    };
    let http = http_client_fn(move |_, _| connector.clone());
    (S3Store::with_http(&settings, http, Env::simulated(1, 0), Arc::new(Metrics::default())).unwrap(), wire)
}

fn response(status: u16, headers: &[(&'static str, String)], body: impl Into<SdkBody>) -> HttpResponse {
    let mut response = HttpResponse::new(status.try_into().unwrap(), body.into());
    for (name, value) in headers {
        response.headers_mut().insert(*name, value.clone());
    }
    response
}

fn failure(status: u16, code: &str) -> HttpResponse {
    response(status, &[], format!("<Error><Code>{code}</Code><Message>as scripted</Message></Error>"))
}

/// Frames, each after a pause; then the end, or silence.
struct Slow {
    frames: Vec<(Duration, Bytes)>,
    silent: bool,
    sleep: Option<Pin<Box<tokio::time::Sleep>>>,
}

impl http_body::Body for Slow {
    type Data = Bytes;
    type Error = std::io::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<std::io::Result<Frame<Bytes>>>> {
        let Some((pause, _)) = self.frames.first() else {
            return if self.silent { Poll::Pending } else { Poll::Ready(None) };
        };
        let pause = *pause;
        let sleep = self.sleep.get_or_insert_with(|| Box::pin(tokio::time::sleep(pause)));
        if sleep.as_mut().poll(cx).is_pending() {
            return Poll::Pending;
        }
        self.sleep = None;
        Poll::Ready(Some(Ok(Frame::data(self.frames.remove(0).1))))
    }
}

fn slow(frames: usize, pause: Duration, silent: bool) -> SdkBody {
    let frames = (0..frames).map(|i| (pause, Bytes::from(vec![i as u8]))).collect();
    SdkBody::from_body_1_x(Slow { frames, silent, sleep: None })
}

fn object_headers(range: &str, length: u64) -> Vec<(&'static str, String)> {
    let mut headers = vec![("etag", "\"tag\"".to_owned()), ("content-length", length.to_string())];
    if !range.is_empty() {
        headers.push(("content-range", range.to_owned()));
    }
    headers
}

#[tokio::test(start_paused = true)]
async fn a_put_carries_its_checksum_and_precondition_and_is_not_hashed_again() {
    let (store, wire) = store(|_, _| response(200, &[("etag", "\"abc\"".into())], ""));
    let bytes = b"123456789";
    let body = Body::with_crc32(bytes.chunks(2).map(Bytes::from_static).collect(), 0xcbf4_3926);
    let version = store.put("a/b", body.clone(), PutMode::Create).await.unwrap();
    assert_eq!(&*version.0, "abc");
    store.put("a/b", body, PutMode::Replace(version)).await.unwrap();
    assert_eq!(wire.header(0, "x-amz-checksum-crc32").as_deref(), Some("y/Q5Jg=="));
    assert_eq!(wire.header(0, "x-amz-content-sha256").as_deref(), Some("UNSIGNED-PAYLOAD"));
    assert_eq!(wire.header(0, "content-length").as_deref(), Some("9"));
    assert_eq!(wire.header(0, "content-encoding"), None, "not chunked in AWS's own way");
    assert_eq!((wire.header(0, "if-none-match").as_deref(), wire.header(0, "if-match")), (Some("*"), None));
    assert_eq!((wire.header(1, "if-none-match"), wire.header(1, "if-match").as_deref()), (None, Some("\"abc\"")));
    assert!(wire.requests.lock()[0].uri().contains("/bucket/some/prefix/a/b"));
}

#[tokio::test(start_paused = true)]
async fn without_conditions_none_are_sent() {
    let (store, wire) = store(|_, _| response(200, &[("etag", "\"abc\"".into())], ""));
    store.without_conditions().put("k", Bytes::new().into(), PutMode::Create).await.unwrap();
    assert_eq!((wire.header(0, "if-none-match"), wire.header(0, "if-match")), (None, None));
}

#[tokio::test(start_paused = true)]
async fn the_sdk_does_not_retry() {
    for (status, code, kind) in [
        (503, "SlowDown", StoreErrorKind::Throttled),
        (409, "ConditionalRequestConflict", StoreErrorKind::Conflict),
        (412, "PreconditionFailed", StoreErrorKind::AlreadyExists),
        (501, "NotImplemented", StoreErrorKind::Unsupported),
        (500, "InternalError", StoreErrorKind::OutcomeUnknown),
        (403, "RequestTimeTooSkewed", StoreErrorKind::Refused),
    ] {
        let (store, wire) = store(move |_, _| failure(status, code));
        let error = store.put("k", Bytes::new().into(), PutMode::Create).await.unwrap_err();
        assert_eq!((error.kind, wire.count()), (kind, 1), "{error}");
        assert!(error.message.contains(code), "{error}");
    }
}

/// FAULTS.md D19, first half.
#[tokio::test(start_paused = true)]
async fn a_body_that_trickles_for_a_minute_completes() {
    let (store, wire) = store(|_, _| response(200, &object_headers("", 60), slow(60, Duration::from_secs(1), false)));
    let began = env::now();
    let object = store.get("k", GetRange::Full).await.unwrap();
    assert_eq!(object.bytes, (0..60).collect::<Vec<u8>>());
    assert_eq!((env::now() - began, wire.count()), (Duration::from_secs(60), 1));
}

/// FAULTS.md D19, second half.
#[tokio::test(start_paused = true)]
async fn a_body_that_stalls_is_resumed_by_range_on_the_same_version() {
    let (store, wire) = store(|request, _| match request {
        0 => response(206, &object_headers("bytes 10-29/100", 20), slow(7, Duration::from_millis(1), true)),
        _ => response(206, &object_headers("bytes 17-29/100", 13), vec![9; 13]),
    });
    let object = store.get("k", GetRange::Bounded(10..30)).await.unwrap();
    let expected: Vec<u8> = (0..7).chain([9; 13]).collect();
    assert_eq!((object.bytes.to_vec(), object.position, object.size), (expected, 10, 100));
    assert_eq!((wire.header(1, "range").as_deref(), wire.header(1, "if-match").as_deref()), (Some("bytes=17-29"), Some("\"tag\"")));
}

#[tokio::test(start_paused = true)]
async fn a_body_that_is_silent_for_good_fails_in_the_end() {
    let (store, wire) = store(|_, _| response(200, &object_headers("", 5), slow(0, Duration::ZERO, true)));
    let (store, wire) = (store, wire);
    let error = store.get("k", GetRange::Full).await.unwrap_err();
    // The scripted server answers the resumption without a range, which is refused too.
    assert_eq!(error.kind, StoreErrorKind::Unsupported, "{error}");
    assert_eq!(wire.count(), 2);
}

#[tokio::test(start_paused = true)]
async fn stalls_without_progress_are_bounded() {
    let (store, wire) = store(|_, _| response(206, &object_headers("bytes 0-4/5", 5), slow(0, Duration::ZERO, true)));
    let error = store.get("k", GetRange::Bounded(0..5)).await.unwrap_err();
    assert_eq!((error.kind, wire.count()), (StoreErrorKind::OutcomeUnknown, 5), "{error}");
}

#[tokio::test(start_paused = true)]
async fn an_object_replaced_in_the_middle_is_not_mixed() {
    let (store, _) = store(|request, _| match request {
        0 => response(200, &object_headers("", 20), slow(7, Duration::from_millis(1), true)),
        _ => failure(412, "PreconditionFailed"),
    });
    let error = store.get("k", GetRange::Full).await.unwrap_err();
    assert_eq!(error.kind, StoreErrorKind::Unavailable, "the whole get may be repeated: {error}");
}

#[tokio::test(start_paused = true)]
async fn answers_that_do_not_fit_the_question_are_refused() {
    let asked = GetRange::Bounded(10..20);
    for (range, body, kind) in [
        ("bytes 11-19/100", 9, StoreErrorKind::Corrupt),
        ("bytes 10-99/100", 90, StoreErrorKind::Corrupt),
        ("bytes 10-1/100", 10, StoreErrorKind::Corrupt),
        ("", 100, StoreErrorKind::Unsupported),
    ] {
        let (store, _) = store(move |_, _| response(206, &object_headers(range, body), vec![0; body as usize]));
        assert_eq!(store.get("k", asked.clone()).await.unwrap_err().kind, kind, "{range}");
    }
    let (store, _) = store(|_, _| response(200, &object_headers("", 1 << 40), vec![0; 10]));
    assert_eq!(store.get("k", GetRange::Full).await.unwrap_err().kind, StoreErrorKind::Refused, "no allocation by what a header says");
}

fn listed(keys: &BTreeSet<String>, uri: &str) -> HttpResponse {
    let parameter = |name: &str| uri.split(['?', '&']).find_map(|p| p.strip_prefix(&format!("{name}="))).map(|v| v.replace("%2F", "/"));
    let after = parameter("continuation-token").or(parameter("start-after")).unwrap_or_default();
    let max: usize = parameter("max-keys").unwrap().parse().unwrap();
    let mut rest = keys.iter().filter(|k| **k > after);
    let page: Vec<_> = rest.by_ref().take(max).collect();
    let contents: String = page.iter().map(|k| format!("<Contents><Key>{k}</Key><Size>1</Size><ETag>\"t\"</ETag></Contents>")).collect();
    let token = if rest.next().is_some() {
        format!("<IsTruncated>true</IsTruncated><NextContinuationToken>{}</NextContinuationToken>", page.last().unwrap())
    } else {
        "<IsTruncated>false</IsTruncated>".to_owned()
    };
    response(200, &[], format!("<ListBucketResult>{contents}{token}</ListBucketResult>"))
}

/// FAULTS.md D16.
#[tokio::test(start_paused = true)]
async fn pages_are_joined_though_one_fails_once() {
    let keys: BTreeSet<_> = (0..2_350).map(|i| format!("some/prefix/log/{i:06}")).collect();
    let (s3, wire) = store(move |request, r| if request == 1 { failure(500, "InternalError") } else { listed(&keys, r.uri()) });
    let options = super::super::RetryOptions::default();
    let store = super::super::Retrying::new(Arc::new(s3), options, Env::simulated(1, 0), Arc::new(Metrics::default()));
    let found: Vec<_> = store.list("log/", None, usize::MAX).await.unwrap().into_iter().map(|m| m.key).collect();
    assert_eq!(found, (0..2_350).map(|i| format!("log/{i:06}")).collect::<Vec<_>>());
    assert_eq!(wire.count(), 4);
}

fn deleted(throttled: impl Fn(&str) -> bool, body: &str) -> HttpResponse {
    let keys = body.split("<Key>").skip(1).map(|k| k.split('<').next().unwrap());
    let errors: String =
        keys.filter(|k| throttled(k)).map(|k| format!("<Error><Key>{k}</Key><Code>SlowDown</Code><Message>m</Message></Error>")).collect();
    response(200, &[], format!("<DeleteResult>{errors}</DeleteResult>"))
}

fn text(request: &HttpRequest) -> String {
    String::from_utf8(request.body().bytes().unwrap().to_vec()).unwrap()
}

/// FAULTS.md D15.
#[tokio::test(start_paused = true)]
async fn confirmed_keys_leave_the_list() {
    let seen = Mutex::new(BTreeSet::new());
    let throttled = move |key: &str| key.ends_with(['1', '3', '5', '7', '9']) && seen.lock().insert(key.to_owned());
    let (store, wire) = store(move |_, request| deleted(&throttled, &text(request)));
    let keys: Vec<_> = (0..2_500).map(|i| format!("k/{i}")).collect();
    store.delete(&keys).await.unwrap();
    let batches: Vec<_> = wire.requests.lock().iter().map(|r| text(r).matches("<Key>").count()).collect();
    assert_eq!(batches, [1_000, 500, 1_000, 500, 500, 250]);
}

#[tokio::test(start_paused = true)]
async fn a_round_that_confirms_nothing_is_the_last() {
    let (store, wire) = store(|_, request| deleted(|_| true, &text(request)));
    let error = store.delete(&["a".to_owned(), "b".to_owned()]).await.unwrap_err();
    assert_eq!((error.kind, wire.count()), (StoreErrorKind::Throttled, 1));
    assert_eq!(error.key, "a");
}

#[tokio::test]
async fn a_refused_connection_wrote_nothing() {
    let unused = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let settings = S3Settings {
        bucket: "b".into(),
        endpoint: Some(format!("http://{unused}")),
        access_key: Some("a".into()),
        secret_key: Some("s".into()),
        ..S3Settings::default()
    };
    let store = S3Store::connect(&settings, Env::system(), Arc::new(Metrics::default())).unwrap();
    let error = store.put("k", Bytes::new().into(), PutMode::Create).await.unwrap_err();
    assert_eq!(error.kind, StoreErrorKind::Unavailable, "{error}");
}
