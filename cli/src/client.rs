//! The admin API of a running broker, from the outside.

use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tidegate::admin::api::{
    CreateTopic, DropShadow, ErrorBody, HistoryQuery, PolicyChange, PolicyHistory, PolicyList, PromoteShadow, RecordingState,
    RollBackPolicy, SetPolicy, ShadowList, TopicDetail, TopicList, UnsetPolicy,
};
use tidegate::metadata::TopicRecord;
use tidegate::policy::Kind;
use tidegate::runtime::{Recorded, RecordingSpec};
use ureq::http::Response;
use ureq::{Agent, Body};

use crate::args::AdminArgs;
use crate::failure::{Refused, Usage};

/// Longest answer that is read, in bytes.
const MAX_ANSWER_BYTES: u64 = 1 << 30;
/// Longest exchange: a little more than the server's own limit.
const DEADLINE: Duration = Duration::from_secs(150);

/// A connection to the admin API.
pub(crate) struct Admin {
    agent: Agent,
    base: String,
    token: Option<String>,
}

impl Admin {
    pub(crate) fn new(args: &AdminArgs) -> Result<Self> {
        if !args.admin.starts_with("http://") {
            return Err(Usage(format!("--admin {:?}: expected a URL such as http://127.0.0.1:9644", args.admin)).into());
        }
        if args.token.as_ref().is_some_and(|token| !token.bytes().all(|byte| byte.is_ascii_graphic())) {
            let problem = "the token (--token, TIDEGATE_TOKEN) may only have visible ASCII characters, and no line end";
            return Err(Usage(problem.to_owned()).into());
        }
        let config = Agent::config_builder().http_status_as_error(false).timeout_global(Some(DEADLINE)).build();
        Ok(Self { agent: config.into(), base: args.admin.trim_end_matches('/').to_owned(), token: args.token.clone() })
    }

    pub(crate) fn topics(&self) -> Result<TopicList> {
        self.read(self.get("/v1/topics"))
    }

    pub(crate) fn topic(&self, name: &str) -> Result<TopicDetail> {
        self.read(self.get(&topic_path(name)?))
    }

    pub(crate) fn create_topic(&self, topic: &CreateTopic) -> Result<TopicRecord> {
        self.read(self.send(self.agent.post(self.url("/v1/topics")), topic))
    }

    pub(crate) fn delete_topic(&self, name: &str) -> Result<()> {
        let sent = self.with_token(self.agent.delete(self.url(&topic_path(name)?))).call();
        self.succeeded(sent).map(drop)
    }

    pub(crate) fn policies(&self) -> Result<PolicyList> {
        self.read(self.get("/v1/policies"))
    }

    pub(crate) fn policy_history(&self, query: &HistoryQuery) -> Result<PolicyHistory> {
        let request = self.agent.get(self.url("/v1/policies/history"));
        let asked = [("pattern", query.pattern.as_deref()), ("kind", query.kind.map(Kind::as_str))];
        let asked = asked.into_iter().filter_map(|(key, value)| Some((key, value?)));
        self.read(self.with_token(asked.fold(request, |r, (key, value)| r.query(key, value))).call())
    }

    pub(crate) fn roll_back_policy(&self, policy: &RollBackPolicy) -> Result<PolicyChange> {
        self.read(self.send(self.agent.post(self.url("/v1/policies/rollback")), policy))
    }

    pub(crate) fn set_policy(&self, policy: &SetPolicy) -> Result<PolicyChange> {
        self.read(self.send(self.agent.put(self.url("/v1/policies")), policy))
    }

    pub(crate) fn unset_policy(&self, policy: &UnsetPolicy) -> Result<PolicyChange> {
        let request = self.agent.delete(self.url("/v1/policies"));
        let query = [("pattern", policy.pattern.as_str()), ("kind", policy.kind.as_str()), ("by", &policy.by)];
        self.read(self.with_token(query.into_iter().fold(request, |r, (key, value)| r.query(key, value))).call())
    }

    pub(crate) fn start_recording(&self, spec: &RecordingSpec) -> Result<RecordingState> {
        self.read(self.send(self.agent.post(self.url("/v1/recording")), spec))
    }

    pub(crate) fn recording_state(&self) -> Result<RecordingState> {
        self.read(self.get("/v1/recording"))
    }

    pub(crate) fn stop_recording(&self) -> Result<Recorded> {
        self.read(self.with_token(self.agent.delete(self.url("/v1/recording"))).call())
    }

    pub(crate) fn shadows(&self) -> Result<ShadowList> {
        self.read(self.get("/v1/policies/shadows"))
    }

    pub(crate) fn shadow_policy(&self, policy: &SetPolicy) -> Result<ShadowList> {
        self.read(self.send(self.agent.put(self.url("/v1/policies/shadows")), policy))
    }

    pub(crate) fn promote_shadow(&self, shadow: &PromoteShadow) -> Result<PolicyChange> {
        self.read(self.send(self.agent.post(self.url("/v1/policies/shadows/promote")), shadow))
    }

    pub(crate) fn drop_shadow(&self, shadow: &DropShadow) -> Result<ShadowList> {
        let request = self.agent.delete(self.url("/v1/policies/shadows"));
        self.read(self.with_token(request.query("pattern", &shadow.pattern).query("kind", shadow.kind.as_str())).call())
    }

    fn url(&self, path: &str) -> String {
        format!("{}{path}", self.base)
    }

    fn get(&self, path: &str) -> Result<Response<Body>, ureq::Error> {
        self.with_token(self.agent.get(self.url(path))).call()
    }

    fn send<T: Serialize>(
        &self,
        request: ureq::RequestBuilder<ureq::typestate::WithBody>,
        body: &T,
    ) -> Result<Response<Body>, ureq::Error> {
        self.with_token(request).send_json(body)
    }

    fn with_token<B>(&self, request: ureq::RequestBuilder<B>) -> ureq::RequestBuilder<B> {
        match &self.token {
            Some(token) => request.header("authorization", format!("Bearer {token}")),
            None => request,
        }
    }

    fn read<T: DeserializeOwned>(&self, sent: Result<Response<Body>, ureq::Error>) -> Result<T> {
        let text = self.succeeded(sent)?;
        serde_json::from_str(&text)
            .with_context(|| format!("the answer of {} is not understood: is it a broker of this version?", self.base))
    }

    /// A server hangs up on what is larger than it takes, and its answer may be lost.
    fn too_much(&self) -> anyhow::Error {
        let base = &self.base;
        anyhow::anyhow!("the broker at {base} takes no request of that size: is the component larger than its policy.component_bytes?")
    }

    /// The answer's body, or the message of its error.
    fn succeeded(&self, sent: Result<Response<Body>, ureq::Error>) -> Result<String> {
        let unreachable = || format!("the admin api at {} does not answer: is the broker running there?", self.base);
        let mut response =
            sent.map_err(|error| if hung_up(&error) { self.too_much() } else { anyhow::Error::new(error).context(unreachable()) })?;
        let status = response.status();
        if status == ureq::http::StatusCode::PAYLOAD_TOO_LARGE {
            return Err(self.too_much());
        }
        let text = response.body_mut().with_config().limit(MAX_ANSWER_BYTES).read_to_string().with_context(unreachable)?;
        if status.is_success() {
            return Ok(text);
        }
        match serde_json::from_str::<ErrorBody>(&text) {
            Ok(body) if status == ureq::http::StatusCode::UNAUTHORIZED => bail!("{}: set TIDEGATE_TOKEN", body.error.message),
            Ok(body) => Err(Refused(body.error).into()),
            Err(_) => bail!("{} answered {status}", self.base),
        }
    }
}

/// Whether a server closed the connection while it was still being written to.
fn hung_up(error: &ureq::Error) -> bool {
    use std::io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset};
    matches!(error, ureq::Error::Io(error) if matches!(error.kind(), BrokenPipe | ConnectionAborted | ConnectionReset))
}

/// Names are checked before they become part of a path.
fn topic_path(name: &str) -> Result<String> {
    let name = tidegate::types::TopicName::new(name).map_err(|e| Usage(e.to_string()))?;
    Ok(format!("/v1/topics/{name}"))
}
