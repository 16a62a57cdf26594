//! SaslHandshake and SaslAuthenticate, and the bare tokens that clients from before Kafka 1.0 send between them.
//!
//! A client that fails is told no more than that, after a pause, and its connection is closed.

use std::time::Duration;

use kafka_protocol::ResponseError;
use kafka_protocol::messages::{SaslAuthenticateRequest, SaslAuthenticateResponse, SaslHandshakeRequest, SaslHandshakeResponse};
use kafka_protocol::protocol::StrBytes;

use crate::api::{Call, Service, Session};
use crate::config::Mechanism;
use crate::connection::Outcome;
use crate::security::login::{Failure, Progress};
use crate::wire::answer::Answer;

/// How long a client that failed waits for the answer, at most: guesses are slow.
const FAILURE_PAUSE: Duration = Duration::from_millis(200);
/// Version whose client sends bare tokens afterwards.
const BARE_TOKENS: i16 = 0;
/// First version that tells how long a client is known.
const LIFETIMES: i16 = 1;

impl Service {
    pub(in crate::api) fn sasl_handshake(&self, session: &Session, version: i16, request: SaslHandshakeRequest) -> SaslHandshakeResponse {
        let chosen = session.login.handshake(&request.mechanism, version == BARE_TOKENS, self.security.asks_again());
        let mechanisms = session.login.mechanisms().iter().map(|mechanism| StrBytes::from_static_str(mechanism.name()));
        let error = chosen.err().map_or(0, |error| error.code());
        SaslHandshakeResponse::default().with_error_code(error).with_mechanisms(mechanisms.collect())
    }

    pub(in crate::api) async fn sasl_authenticate(&self, session: &Session, call: Call, request: SaslAuthenticateRequest) -> Outcome {
        let answer = SaslAuthenticateResponse::default().with_error_message(None);
        match self.security.authenticate(&session.login, &request.auth_bytes).await {
            Ok(Progress::More(token)) => call.answer(&answer.with_auth_bytes(token.into())),
            Ok(Progress::Known(token, lifetime)) => {
                let lifetime = lifetime.map_or(0, |lifetime| i64::try_from(lifetime.as_millis()).unwrap_or(i64::MAX));
                let answer = answer.with_auth_bytes(token.into());
                call.answer(&if call.version >= LIFETIMES { answer.with_session_lifetime_ms(lifetime) } else { answer })
            }
            Err(failure) => {
                self.pause().await;
                let (code, message) = told(&failure);
                let answer = answer.with_error_code(code.code()).with_error_message(Some(StrBytes::from_string(message)));
                match call.answer(&answer) {
                    Outcome::Answer(answer) => Outcome::Last(answer, why(&failure)),
                    other => other,
                }
            }
        }
    }

    /// A token without a header. There is no way to say that it was refused but to close the connection.
    pub(in crate::api) async fn bare_token(&self, session: &Session, token: &[u8]) -> Outcome {
        match self.security.authenticate(&session.login, token).await {
            Ok(Progress::More(token) | Progress::Known(token, _)) => Call::outcome(Answer::bare(token)),
            Err(failure) => {
                self.pause().await;
                Outcome::Close(why(&failure))
            }
        }
    }

    async fn pause(&self) {
        tokio::time::sleep(self.storage.env().jittered(FAILURE_PAUSE)).await;
    }
}

fn why(failure: &Failure) -> String {
    let mechanism = failure.mechanism.map_or("none", Mechanism::name);
    format!("authentication failed: {} by mechanism {mechanism}", failure.reason)
}

/// In Kafka's words, which some clients show and none interprets.
fn told(failure: &Failure) -> (ResponseError, String) {
    match failure.mechanism {
        None => (ResponseError::IllegalSaslState, "SaslAuthenticate request received before SaslHandshake".to_owned()),
        Some(Mechanism::Plain) => {
            (ResponseError::SaslAuthenticationFailed, "Authentication failed: Invalid username or password".to_owned())
        }
        Some(mechanism) => {
            let message = format!("Authentication failed during authentication due to invalid credentials with SASL mechanism {mechanism}");
            (ResponseError::SaslAuthenticationFailed, message)
        }
    }
}
