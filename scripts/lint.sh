#!/usr/bin/env bash
# Formatting, clippy and documentation; a warning is a failure.
source "$(dirname "$0")/lib.sh"

say "scripts"
for script in scripts/*.sh .ci/run; do
    bash -n "$script"
done
say "formatting"
cargo fmt --all --check
say "clippy"
cargo clippy --workspace --all-targets --locked -- -D warnings
say "documentation"
RUSTDOCFLAGS="-D warnings -A rustdoc::private-intra-doc-links" cargo doc --workspace --no-deps --locked --document-private-items
