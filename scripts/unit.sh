#!/usr/bin/env bash
# The tests inside the crates: no server, no plugin, no network.
source "$(dirname "$0")/lib.sh"

cargo test --workspace --exclude tidegate-tests --locked
