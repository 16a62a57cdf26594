//! DescribeUserScramCredentials and AlterUserScramCredentials: who there is, and what is stored of passwords.
//!
//! Clients salt and hash passwords themselves; what comes here cannot be used to log in elsewhere, and is hashed once more.

use std::collections::BTreeMap;

use kafka_protocol::ResponseError;
use kafka_protocol::messages::alter_user_scram_credentials_request::{ScramCredentialDeletion, ScramCredentialUpsertion};
use kafka_protocol::messages::alter_user_scram_credentials_response::AlterUserScramCredentialsResult;
use kafka_protocol::messages::describe_user_scram_credentials_response::{CredentialInfo, DescribeUserScramCredentialsResult};
use kafka_protocol::messages::{
    AlterUserScramCredentialsRequest, AlterUserScramCredentialsResponse, DescribeUserScramCredentialsRequest,
    DescribeUserScramCredentialsResponse,
};

use super::text;
use crate::api::{Service, Session};
use crate::security::acl::{Operation, Resource};
use crate::security::scram::{Credential, Hash};
use crate::security::users::{Unacceptable, Users, check};
use crate::topics::Refusal;

/// What is to be done to one user: what to set or remove, by hash; or why nothing is done.
type Changes<'a> = BTreeMap<&'a str, Result<Vec<(Hash, Option<Credential>)>, Refusal>>;

impl Service {
    pub(super) async fn describe_scram(
        &self,
        session: &Session,
        request: &DescribeUserScramCredentialsRequest,
    ) -> DescribeUserScramCredentialsResponse {
        let answer = DescribeUserScramCredentialsResponse::default().with_error_message(None);
        match self.known_users(session).await {
            Ok(users) => answer.with_results(described(&users, request)),
            Err(refusal) => answer.with_error_code(refusal.code.code()).with_error_message(Some(text(refusal.message))),
        }
    }

    async fn known_users(&self, session: &Session) -> Result<Users, Refusal> {
        self.authorized(session, Operation::Describe, Resource::CLUSTER)?;
        self.security.users().await.map_err(|error| Refusal::of(&error))
    }

    pub(super) async fn alter_scram(
        &self,
        session: &Session,
        request: &AlterUserScramCredentialsRequest,
    ) -> AlterUserScramCredentialsResponse {
        let mut changes = wanted(request);
        if let Err(refusal) = self.authorized(session, Operation::Alter, Resource::CLUSTER) {
            changes.values_mut().for_each(|change| *change = Err(refusal.clone()));
        }
        let results = self.apply(session, changes).await.into_iter().map(|(user, outcome)| result(&user, outcome));
        AlterUserScramCredentialsResponse::default().with_results(results.collect())
    }

    /// Each user is changed wholly or not at all; all in one write.
    async fn apply(&self, session: &Session, changes: Changes<'_>) -> Vec<(String, Result<(), Refusal>)> {
        let secret = self.security.fresh_secret();
        let change = |users: &mut Users| -> Vec<(String, Result<(), Refusal>)> {
            let outcome = |(user, change): (&&str, &Result<Vec<_>, Refusal>)| {
                let changed = change.as_ref().map_err(Clone::clone).and_then(|change| apply_to(users, user, change, &secret));
                ((*user).to_owned(), changed)
            };
            changes.iter().map(outcome).collect()
        };
        if changes.values().all(Result::is_err) {
            return change(&mut Users::default());
        }
        match self.security.change_users(change).await {
            Ok(outcomes) => {
                let changed = outcomes.iter().filter(|(_, outcome)| outcome.is_ok()).count();
                tracing::info!(by = session.login.principal(), users = changed, "passwords changed");
                outcomes
            }
            Err(error) => changes.keys().map(|user| ((*user).to_owned(), Err(Refusal::of(&error)))).collect(),
        }
    }
}

fn apply_to(users: &mut Users, user: &str, change: &[(Hash, Option<Credential>)], secret: &[u8]) -> Result<(), Refusal> {
    let missing = |hash: &Hash| !users.users.get(user).is_some_and(|known| known.contains_key(hash));
    if change.iter().any(|(hash, credential)| credential.is_none() && missing(hash)) {
        let message = "Attempt to delete a user credential that does not exist";
        return Err(Refusal::new(ResponseError::ResourceNotFound, message));
    }
    for (hash, credential) in change {
        match credential {
            Some(credential) => users.set(user, *hash, credential.clone(), secret).map_err(unacceptable)?,
            None => {
                users.remove(user, *hash);
            }
        }
    }
    Ok(())
}

fn unacceptable(problem: Unacceptable) -> Refusal {
    Refusal::new(ResponseError::UnacceptableCredential, problem.message())
}

fn unknown_mechanism() -> Refusal {
    Refusal::new(ResponseError::UnsupportedSaslMechanism, "Unknown SCRAM mechanism")
}

fn wanted(request: &AlterUserScramCredentialsRequest) -> Changes<'_> {
    let mut changes = Changes::new();
    let deletions = request.deletions.iter().map(|deletion| (deletion.name.as_str(), removal(deletion)));
    let settings = request.upsertions.iter().map(|setting| (setting.name.as_str(), setting_of(setting)));
    for (user, change) in deletions.chain(settings) {
        let entry = changes.entry(user).or_insert_with(|| Ok(Vec::new()));
        let twice = |list: &Vec<(Hash, Option<Credential>)>, hash: Hash| list.iter().any(|(other, _)| *other == hash);
        *entry = match (std::mem::replace(entry, Ok(Vec::new())), change) {
            (Err(refusal), _) | (Ok(_), Err(refusal)) => Err(refusal),
            (Ok(list), Ok((hash, _))) if twice(&list, hash) => {
                let message = "A user credential cannot be altered twice in the same request";
                Err(Refusal::new(ResponseError::DuplicateResource, message))
            }
            (Ok(mut list), Ok(change)) => {
                list.push(change);
                Ok(list)
            }
        };
    }
    changes
}

fn removal(deletion: &ScramCredentialDeletion) -> Result<(Hash, Option<Credential>), Refusal> {
    Ok((Hash::of_code(deletion.mechanism).ok_or_else(unknown_mechanism)?, None))
}

fn setting_of(setting: &ScramCredentialUpsertion) -> Result<(Hash, Option<Credential>), Refusal> {
    let hash = Hash::of_code(setting.mechanism).ok_or_else(unknown_mechanism)?;
    let checked = check(&setting.name, hash, setting.iterations, &setting.salt, &setting.salted_password);
    let iterations = checked.map_err(unacceptable)?;
    Ok((hash, Some(Credential::of_salted(hash, &setting.salted_password, setting.salt.to_vec(), iterations))))
}

fn result(user: &str, outcome: Result<(), Refusal>) -> AlterUserScramCredentialsResult {
    let answer = AlterUserScramCredentialsResult::default().with_user(text(user)).with_error_message(None);
    match outcome {
        Ok(()) => answer,
        Err(Refusal { code, message }) => answer.with_error_code(code.code()).with_error_message(Some(text(message))),
    }
}

/// The users asked for, or all.
fn described(users: &Users, request: &DescribeUserScramCredentialsRequest) -> Vec<DescribeUserScramCredentialsResult> {
    let Some(asked) = request.users.as_ref().filter(|asked| !asked.is_empty()) else {
        return users.users.keys().map(|name| known(users, name)).collect();
    };
    let mut times: BTreeMap<&str, usize> = BTreeMap::new();
    asked.iter().for_each(|user| *times.entry(&user.name).or_default() += 1);
    let refused = |name: &str, code: ResponseError, message: String| {
        let answer = DescribeUserScramCredentialsResult::default().with_user(text(name));
        answer.with_error_code(code.code()).with_error_message(Some(text(message)))
    };
    let describe = |(name, times): (&str, usize)| {
        if times > 1 {
            let message = format!("Cannot describe SCRAM credentials for the same user twice in a single request: {name}");
            return refused(name, ResponseError::DuplicateResource, message);
        }
        if !users.users.contains_key(name) {
            let message = format!("Attempt to describe a user credential that does not exist: {name}");
            return refused(name, ResponseError::ResourceNotFound, message);
        }
        known(users, name)
    };
    times.into_iter().map(describe).collect()
}

fn known(users: &Users, name: &str) -> DescribeUserScramCredentialsResult {
    let credentials = users.users.get(name).into_iter().flatten();
    let info = |(hash, credential): (&Hash, &Credential)| {
        CredentialInfo::default().with_mechanism(hash.code()).with_iterations(credential.iterations.get() as i32)
    };
    let answer = DescribeUserScramCredentialsResult::default().with_user(text(name)).with_error_message(None);
    answer.with_credential_infos(credentials.map(info).collect())
}
