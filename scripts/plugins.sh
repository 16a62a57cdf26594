#!/usr/bin/env bash
# Builds every crate of plugins/, or those that the arguments name, as components; PROFILE is the profile of the command that does it.
source "$(dirname "$0")/lib.sh"

profile=${PROFILE:-dev}
out=${TIDEGATE_PLUGINS:-$target/plugins}

scripts/setup.sh wasm
# In the tests' profile with the features that the tests have anyway: nothing is built twice.
what=(--package tidegate-cli)
[ "$profile" != dev ] || what=(--workspace --bin tidegate)
cargo build --locked "${what[@]}" --profile "$profile"
tidegate=$(binary "$profile")
[ $# -gt 0 ] || set -- plugins/*/
"$tidegate" plugin build "$@" --out "$out"
