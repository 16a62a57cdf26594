//! Policies that are bound through a topic's configs.

use kafka_protocol::ResponseError;
use serde_json::Value;
use tidegate::runtime::Bind;
use tidegate::types::{Kind, TopicName};
use tidegate::{Error, ErrorKind};

use crate::api::{Service, Session};
use crate::configs::policies::{PolicyChange, Step, author, goes_with_its_topic, own};
use crate::topics::Refusal;

/// What is to be done with the bindings of a topic, all of it tried out.
pub(in crate::api) enum Planned {
    Bind(Box<Bind>),
    Unbind(Kind),
}

impl Service {
    /// Tries out what changes of a topic's configs ask of its policies; nothing is changed yet.
    pub(in crate::api) async fn plan_policies(
        &self,
        session: &Session,
        topic: &TopicName,
        changes: &[PolicyChange],
    ) -> Result<Vec<Planned>, Refusal> {
        let bindings = self.storage.bindings();
        let mut planned = Vec::new();
        for change in changes {
            match change.step(own(&bindings, topic, change.kind))? {
                Step::Nothing => {}
                Step::Unbind => planned.push(Planned::Unbind(change.kind)),
                Step::Bind(name, config) => {
                    let bind = self.candidate(session, topic, change.kind, &name, config).await?;
                    self.storage.try_policy(&bind).await.map_err(|error| refused(change.kind, &name, &error))?;
                    planned.push(Planned::Bind(Box::new(bind)));
                }
            }
        }
        Ok(planned)
    }

    async fn candidate(&self, session: &Session, topic: &TopicName, kind: Kind, name: &str, config: Value) -> Result<Bind, Refusal> {
        let component = self.storage.component(name).await.map_err(|error| refused(kind, name, &error))?;
        let bindings = self.storage.bindings();
        // Named by its digest, it is the one that is bound: it keeps the name that it was bound by.
        let known = own(&bindings, topic, kind).filter(|own| own.digest == name && goes_with_its_topic(own));
        Ok(Bind {
            pattern: topic.to_string(),
            kind,
            component: component.bytes,
            source: known.map_or(component.source, |own| own.source.clone()),
            config,
            by: author(&who(session)),
            digest: None,
            signature: component.signature,
        })
    }

    /// Does what was planned.
    pub(in crate::api) async fn apply_policies(&self, session: &Session, topic: &TopicName, planned: Vec<Planned>) -> Result<(), Refusal> {
        for step in planned {
            match step {
                Planned::Bind(bind) => {
                    let (kind, name) = (bind.kind, bind.source.clone());
                    self.storage.bind(*bind).await.map_err(|error| refused(kind, &name, &error))?;
                }
                Planned::Unbind(kind) => self.unbind(topic, kind, &author(&who(session))).await?,
            }
        }
        Ok(())
    }

    /// Takes away the bindings that came with the configs of a topic which is gone. What cannot be unbound is left: it decides for nothing.
    pub(in crate::api) async fn unbind_all(&self, session: &Session, topic: &TopicName) {
        let bindings = self.storage.bindings();
        for kind in Kind::ALL {
            if own(&bindings, topic, kind).is_some_and(goes_with_its_topic)
                && let Err(refusal) = self.unbind(topic, kind, &author(&who(session))).await
            {
                tracing::warn!(%topic, %kind, problem = refusal.message, "the policy of a deleted topic is still bound to its name");
            }
        }
    }

    async fn unbind(&self, topic: &TopicName, kind: Kind, by: &str) -> Result<(), Refusal> {
        match self.storage.unbind(topic.as_str(), kind, by).await {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(refused(kind, "", &error)),
            _ => Ok(()),
        }
    }
}

/// The client, as the history of bindings names it.
fn who(session: &Session) -> String {
    format!("{} at {}", session.login.principal().unwrap_or_default(), session.host)
}

/// What is wrong with the policy is the config's fault; what is wrong with the store is not.
fn refused(kind: Kind, name: &str, error: &Error) -> Refusal {
    let code = match error.kind() {
        ErrorKind::InvalidInput | ErrorKind::Conflict | ErrorKind::NotFound | ErrorKind::Unsupported => ResponseError::InvalidConfig,
        _ => return Refusal::of(error),
    };
    Refusal::new(code, format!("tidegate.policy.{kind} = {name:?}: {error}"))
}
