#!/usr/bin/env bash
# Builds every crate of plugins/, or those that the arguments name, as components; PROFILE is the profile of the command that does it.
# With --wasi first: for wasm32-wasip2, into a folder of that name.
source "$(dirname "$0")/lib.sh"

profile=${PROFILE:-dev}
out=${TIDEGATE_PLUGINS:-$target/plugins}
options=()
if [ "${1:-}" = --wasi ]; then
    options=(--wasi)
    out=$out/wasi
    shift
fi

scripts/setup.sh wasm
# In the tests' profile with the features that the tests have anyway: nothing is built twice.
what=(--package tidegate-cli)
[ "$profile" != dev ] || what=(--workspace --bin tidegate)
cargo build --locked "${what[@]}" --profile "$profile"
tidegate=$(binary "$profile")
[ $# -gt 0 ] || set -- plugins/*/
"$tidegate" plugin build "$@" "${options[@]}" --out "$out"
