#!/usr/bin/env bash
# Licences, sources and advisories of the dependencies, by deny.toml. Arguments choose checks; none means all.
source "$(dirname "$0")/lib.sh"

CARGO_DENY_VERSION=0.20.2

export PATH="$cache/cargo-deny/bin:$PATH"
if ! command -v cargo-deny >/dev/null; then
    say "building cargo-deny $CARGO_DENY_VERSION (once, some minutes)"
    CARGO_TARGET_DIR= cargo install --locked --root "$cache/cargo-deny" "cargo-deny@$CARGO_DENY_VERSION"
fi
cargo deny --workspace check "$@"
