#!/usr/bin/env bash
# Benchmarks, one JSON line for each name on standard output. Arguments are cases; none means all. `--list` names them. `peers` is a case
# by itself: Tidegate beside other brokers, by the scripts of the folder that PEERS names; what follows goes to its compare.py.
source "$(dirname "$0")/lib.sh"

export TIDEGATE_PLUGINS=${TIDEGATE_PLUGINS:-$target/plugins}
scripts/setup.sh wasm >&2
cargo build --locked --release --package tidegate-bench --package tidegate-cli >&2
TIDEGATE_BIN=$(binary release)
"$TIDEGATE_BIN" plugin build plugins/*/ tests/guests/evil-guest/ --out "$TIDEGATE_PLUGINS" >&2
if [ "${1:-}" = peers ]; then
    scripts/setup.sh s3 >&2
    export TIDEGATE_BIN TIDEGATE_WEED=${TIDEGATE_WEED:-$cache/seaweedfs-$SEAWEEDFS_VERSION/bin/weed}
    exec python3 -B tests/interop/peers.py "${PEERS:-}" "${@:2}"
fi
"$target/release/tidegate-bench" "$@"
[ "$*" != --list ] || echo peers
