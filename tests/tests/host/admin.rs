//! Policies over the admin API, served in this process: statuses, kinds and classes of what is refused, and what an operator reads.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use serde_json::{Value, json};
use tidegate::Storage;
use tidegate::policy::wasm::digest;
use tidegate_tests::plugins::fixed_index;
use tidegate_tests::world::World;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

const TOKEN: &str = "a token of this test";

/// A host and its admin API; ends with the test.
struct Admin {
    host: Storage,
    base: String,
    token: Option<&'static str>,
    stop: CancellationToken,
}

impl Drop for Admin {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

impl Admin {
    async fn serve(token: Option<&'static str>) -> Self {
        let host = World::default().open().await;
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        let stop = CancellationToken::new();
        tokio::spawn(tidegate::admin::run(listener, host.clone(), token.map(str::to_owned), stop.clone()));
        Self { host, base, token, stop }
    }

    /// Status and JSON of an answer.
    async fn ask(&self, method: &'static str, path: &str, body: Option<Value>) -> (u16, Value) {
        let (url, token) = (format!("{}{path}", self.base), self.token);
        let asking = move || {
            let agent: ureq::Agent = ureq::Agent::config_builder().http_status_as_error(false).build().into();
            let request = ureq::http::Request::builder().method(method).uri(url).header("content-type", "application/json");
            let request = match token {
                Some(token) => request.header("authorization", format!("Bearer {token}")),
                None => request,
            };
            let body = body.map_or_else(Vec::new, |body| body.to_string().into_bytes());
            let mut response = agent.run(request.body(body).unwrap()).unwrap();
            let text = response.body_mut().read_to_string().unwrap();
            (response.status().as_u16(), serde_json::from_str(&text).unwrap_or(Value::Null))
        };
        tokio::task::spawn_blocking(asking).await.unwrap()
    }

    async fn set(&self, component: &[u8], more: Value) -> (u16, Value) {
        let mut body = json!({ "pattern": "*", "kind": "index", "component": STANDARD.encode(component), "source": "a test", "by": "ann" });
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        self.ask("PUT", "/v1/policies", Some(body)).await
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn policies_are_bound_listed_told_of_and_taken_back() {
    let admin = Admin::serve(None).await;
    let (status, first) = admin.set(&fixed_index(8_192), json!({})).await;
    assert_eq!((status, &first["changed"], &first["generation"]), (200, &json!(true), &json!(1)));
    let (status, again) = admin.set(&fixed_index(8_192), json!({})).await;
    assert_eq!((status, &again["changed"], &again["generation"]), (200, &json!(false), &json!(1)));
    admin.set(&fixed_index(16_384), json!({})).await;

    let (_, list) = admin.ask("GET", "/v1/policies", None).await;
    let bound = &list["status"][0];
    assert_eq!((&bound["plugin"], &bound["version"], &bound["generation"]), (&json!("fixed-index"), &json!("1.0.0"), &json!(2)));
    assert_eq!((&bound["breaker"], &bound["degraded"], &bound["clamps"]), (&json!("closed"), &json!(""), &json!(0)));

    let back = json!({ "pattern": "*", "kind": "index", "by": "rolf" });
    let (status, rolled) = admin.ask("POST", "/v1/policies/rollback", Some(back)).await;
    assert_eq!((status, &rolled["changed"], &rolled["bindings"][0]["digest"]), (200, &json!(true), &json!(digest(&fixed_index(8_192)))));
    let to_nothing = json!({ "pattern": "*", "kind": "index", "to": 0 });
    let (_, rolled) = admin.ask("POST", "/v1/policies/rollback", Some(to_nothing)).await;
    assert_eq!((&rolled["generation"], &rolled["bindings"]), (&json!(4), &json!([])));

    let (_, told) = admin.ask("GET", "/v1/policies/history?pattern=*&kind=index", None).await;
    let actions: Vec<_> =
        told["history"].as_array().unwrap().iter().map(|c| (c["action"].as_str().unwrap(), c["by"].as_str().unwrap())).collect();
    assert_eq!(actions, [("set", "ann"), ("set", "ann"), ("rollback", "rolf"), ("rollback", "admin api")]);
    let (_, none) = admin.ask("GET", "/v1/policies/history?kind=flush", None).await;
    assert_eq!((&none["history"], &none["generation"]), (&json!([]), &json!(4)));
    admin.host.close().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn refusals_have_a_status_a_kind_and_a_class() {
    let admin = Admin::serve(None).await;
    let refused = |answer: (u16, Value)| {
        let text = |key: &str| answer.1["error"][key].as_str().unwrap_or_default().to_owned();
        (answer.0, text("kind"), text("class"))
    };
    let is = |status: u16, kind: &str, class: &str| (status, kind.to_owned(), class.to_owned());
    let pinned = json!({ "digest": digest(b"other") });
    assert_eq!(refused(admin.set(&fixed_index(8_192), pinned).await), is(400, "invalid_input", "load.digest_mismatch"));
    assert_eq!(refused(admin.set(&Bytes::from_static(b"{}"), json!({})).await), is(400, "invalid_input", "load.not_wasm"));
    let wrong_kind = json!({ "kind": "flush" });
    assert_eq!(refused(admin.set(&fixed_index(8_192), wrong_kind).await), is(400, "invalid_input", "contract.missing_export"));
    assert_eq!(refused(admin.set(&fixed_index(8_192), json!({ "pattern": "[" })).await), is(400, "invalid_input", ""));
    let large = json!({ "config": { "text": "x".repeat(20_000) } });
    assert_eq!(refused(admin.set(&fixed_index(8_192), large).await), is(400, "invalid_input", "init.config_rejected"));
    let back = json!({ "pattern": "*", "kind": "index" });
    assert_eq!(refused(admin.ask("POST", "/v1/policies/rollback", Some(back)).await), is(404, "not_found", ""));
    let misspelt = json!({ "pattern": "*", "kind": "index", "generation": 3 });
    assert_eq!(refused(admin.ask("POST", "/v1/policies/rollback", Some(misspelt)).await), is(422, "invalid_input", ""));
    assert_eq!(refused(admin.ask("GET", "/v1/policies/history?plugin=x", None).await), is(400, "invalid_input", ""));
    assert_eq!(refused(admin.ask("DELETE", "/v1/policies?pattern=*&kind=index", None).await), is(404, "not_found", ""));
    assert_eq!(refused(admin.ask("DELETE", "/v1/policies/history", None).await), is(405, "invalid_input", ""));
    let metrics = admin.host.metrics().encode();
    for counted in [r#"{outcome="refused"} 5"#, r#"{outcome="failed"} 2"#] {
        assert!(metrics.contains(&format!("tidegate_runtime_binding_requests_total{counted}")), "{counted} is not in {metrics}");
    }
    let (_, told) = admin.ask("GET", "/v1/policies/history", None).await;
    assert_eq!(told["history"].as_array().map(Vec::len), Some(5), "five components were refused: {told}");
    assert_eq!(told["history"][4]["config"], Value::Null, "what is too large is not kept");
}

#[tokio::test(flavor = "multi_thread")]
async fn history_and_rollback_need_the_token() {
    let mut admin = Admin::serve(Some(TOKEN)).await;
    assert_eq!(admin.ask("GET", "/v1/policies/history", None).await.0, 200);
    admin.token = Some("another token of a test");
    let back = json!({ "pattern": "*", "kind": "index" });
    assert_eq!(admin.ask("GET", "/v1/policies/history", None).await.0, 401);
    assert_eq!(admin.ask("POST", "/v1/policies/rollback", Some(back)).await.0, 401);
    admin.token = None;
    assert_eq!(admin.ask("GET", "/healthz", None).await.0, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn refusals_keep_names_as_they_were_written() {
    let admin = Admin::serve(None).await;
    let (status, refused) = admin.ask("POST", "/v1/topics", Some(json!({ "name": "Orders!" }))).await;
    let message = refused["error"]["message"].as_str().unwrap();
    assert_eq!((status, message.starts_with("failed to deserialize the JSON body")), (422, true), "{message}");
    assert!(message.contains(r#"invalid topic name "Orders!": '!' is none of a-z A-Z 0-9 . _ -"#), "{message}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_is_healthy_while_requests_that_never_end_take_every_turn() {
    use tokio::io::AsyncWriteExt;

    let admin = Admin::serve(None).await;
    let address = admin.base.trim_start_matches("http://");
    let half = "PUT /v1/policies HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\ncontent-length: 1000\r\n\r\n{";
    let mut open = Vec::new();
    // Until no turn is left.
    while admin.ask("GET", "/v1/policies", None).await.0 == 200 {
        assert!(open.len() < 200, "turns have a bound");
        let mut stream = tokio::net::TcpStream::connect(address).await.unwrap();
        stream.write_all(half.as_bytes()).await.unwrap();
        open.push(stream);
    }
    assert_eq!(admin.ask("GET", "/healthz", None).await, (200, json!({ "status": "ok" })));
}
