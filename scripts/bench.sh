#!/usr/bin/env bash
# Benchmarks, one JSON line for each name on standard output. Arguments are cases; none means all. `--list` names them.
source "$(dirname "$0")/lib.sh"

export TIDEGATE_PLUGINS=${TIDEGATE_PLUGINS:-$target/plugins}
scripts/setup.sh wasm >&2
cargo build --locked --release --package tidegate-bench --package tidegate-cli >&2
"$(binary release)" plugin build plugins/*/ --out "$TIDEGATE_PLUGINS" >&2
"$target/release/tidegate-bench" "$@"
