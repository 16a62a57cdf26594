//! Who may use the API: whoever has the token, or whoever is on this machine.

use std::net::SocketAddr;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use sha2::{Digest, Sha256};

use super::reply::Failure;
use crate::error::{Error, ErrorKind, Result};

/// The token, as its digest: equal lengths whatever is presented, and nothing to leak.
#[derive(Clone)]
pub(super) struct Token([u8; 32]);

impl Token {
    pub(super) fn new(token: impl AsRef<[u8]>) -> Self {
        Self(Sha256::digest(token).into())
    }

    /// Compares in a time that says nothing of where they differ.
    fn admits(&self, presented: &str) -> bool {
        let presented = Self::new(presented);
        let differences = self.0.iter().zip(presented.0).fold(0, |seen, (a, b)| seen | (a ^ b));
        std::hint::black_box(differences) == 0
    }
}

/// Refuses an address that other machines reach, if anybody could load code through it.
pub(super) fn check_listener(address: SocketAddr, has_token: bool) -> Result<()> {
    if has_token || address.ip().is_loopback() {
        return Ok(());
    }
    let problem = format!("the admin api at {address} would let other machines load code: set admin.token, or listen at 127.0.0.1");
    Err(Error::new(ErrorKind::InvalidInput, problem))
}

/// Lets a request through if there is no token, or it carries it.
pub(super) async fn require(State(token): State<Option<Token>>, request: Request, next: Next) -> Response {
    match token {
        Some(token) if !bearer(request.headers()).is_some_and(|presented| token.admits(presented)) => {
            let message = "this api wants its token as `Authorization: Bearer ...`";
            let failure = Failure::new(StatusCode::UNAUTHORIZED, "unauthorized", message);
            ([(header::WWW_AUTHENTICATE, "Bearer")], failure).into_response()
        }
        _ => next.run(request).await,
    }
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    let (scheme, token) = headers.get(header::AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_token_itself_is_admitted() {
        let token = Token::new("0123456789abcdef");
        assert!(token.admits("0123456789abcdef"));
        for wrong in ["", "0123456789abcde", "0123456789abcdeF", "0123456789abcdef0"] {
            assert!(!token.admits(wrong), "{wrong:?}");
        }
    }

    #[test]
    fn the_token_is_found_in_its_header_alone() {
        let headers = |value: &str| HeaderMap::from_iter([(header::AUTHORIZATION, value.parse().unwrap())]);
        assert_eq!(bearer(&headers("Bearer abc")), Some("abc"));
        assert_eq!(bearer(&headers("bearer  abc ")), Some("abc"));
        assert_eq!(bearer(&headers("Basic abc")), None);
        assert_eq!(bearer(&headers("abc")), None);
        assert_eq!(bearer(&HeaderMap::new()), None);
    }

    #[test]
    fn other_machines_need_a_token() {
        for (address, has_token, fine) in [
            ("127.0.0.1:1", false, true),
            ("[::1]:1", false, true),
            ("0.0.0.0:1", false, false),
            ("10.0.0.1:1", false, false),
            ("[::]:1", false, false),
            ("0.0.0.0:1", true, true),
        ] {
            assert_eq!(check_listener(address.parse().unwrap(), has_token).is_ok(), fine, "{address} {has_token}");
        }
    }
}
