//! The admin API: the `[admin]` section.

use serde::{Deserialize, Serialize};

use super::bounds::Bounds;

/// The admin API.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AdminSettings {
    /// Address to listen at; without a token it must be a loopback address, since the API loads code.
    pub listen: std::net::SocketAddr,
    /// Token that requests must carry as `Authorization: Bearer ...`.
    pub token: Option<String>,
}

impl Default for AdminSettings {
    fn default() -> Self {
        Self { listen: ([127, 0, 0, 1], 9644).into(), token: None }
    }
}

impl AdminSettings {
    pub(super) fn check(&self, bounds: &mut Bounds) {
        if let Some(token) = &self.token {
            if token.len() < MIN_TOKEN_LEN || !token.bytes().all(|b| b.is_ascii_graphic()) {
                bounds.problem("admin.token", format!("must have at least {MIN_TOKEN_LEN} printable ascii characters without spaces"));
            }
        } else if !self.listen.ip().is_loopback() {
            bounds.problem(
                "admin.listen",
                format!("is {}, which other machines reach, and the api loads code: set admin.token, or listen at 127.0.0.1", self.listen),
            );
        }
    }
}

/// Shorter tokens can be guessed.
const MIN_TOKEN_LEN: usize = 16;
