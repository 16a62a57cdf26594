#!/usr/bin/env bash
# All that CI runs, the quick checks first. One profile (dev) for everything, so that nothing is built twice.
source "$(dirname "$0")/lib.sh"

scripts/setup.sh
scripts/lint.sh
say "plugins"
scripts/plugins.sh plugins/*/ tests/guests/*/
# One guest as its own linker makes it, with all that a standard library imports.
scripts/plugins.sh --wasi tests/guests/evil-guest/

say "policies in other languages"
scripts/examples.sh c
if command -v npm >/dev/null; then
    scripts/examples.sh js
fi

# Where the tests find the real parts.
export TIDEGATE_WEED=${TIDEGATE_WEED:-$cache/seaweedfs-$SEAWEEDFS_VERSION/bin/weed}
export TIDEGATE_REGISTRY=${TIDEGATE_REGISTRY:-$cache/docker-registry/docker-registry}
export TIDEGATE_PLUGINS=$target/plugins
export TIDEGATE_BIN=$(binary dev)

say "tests"
cargo test --workspace --locked --no-fail-fast
for shell in zsh fish; do
    if command -v "$shell" >/dev/null; then
        cargo test --workspace --locked --test completions -- --ignored "$shell"
    fi
done
say "what the interop programs compare"
python3 -B -m unittest discover --start-directory tests/interop
say "the commit protocol"
scripts/model.sh
if command -v cargo-deny >/dev/null || [ -x "$cache/cargo-deny/bin/cargo-deny" ]; then
    say "licences and sources"
    scripts/deny.sh licenses bans sources
fi
say "all passed"
