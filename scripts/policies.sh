#!/usr/bin/env bash
# What each bundled policy costs and gains on a few traces: the tables of docs/policies.md, on standard output. The same on every machine.
source "$(dirname "$0")/lib.sh"

profile=${PROFILE:-dev}
export TIDEGATE_PLUGINS=${TIDEGATE_PLUGINS:-$target/plugins}
if [ -z "${TIDEGATE_BIN:-}" ]; then
    PROFILE=$profile scripts/plugins.sh >&2
    TIDEGATE_BIN=$(binary "$profile")
fi
run=$(mktemp -d)
trap 'rm -rf "$run"' EXIT

# A cache that does not hold what late readers come for.
printf '[host]\ncache_bytes = 8388608\nprefetch_bytes = 4194304\n' >"$run/host.toml"
threshold='flush-threshold={"age_ms":1000,"bytes":0}'
others=(index-density index-spacing read-ahead-adaptive read-ahead-fixed read-ahead-pace)
every=(built-in flush-adaptive flush-budget 'flush-latency={"target_ms":500}' "$threshold" "${others[@]}")
# Beside a flush policy that makes large segments.
large=("${others[@]/#/$threshold+}")

# Name, shape and more of a trace, then the rest of the simulation; of what `policies` says.
table() {
    local name=$1 shape=$2 more=$3
    # shellcheck disable=SC2086
    "$TIDEGATE_BIN" trace generate "$shape" $more >"$run/$name.csv"
    "$TIDEGATE_BIN" simulate --trace "$run/$name.csv" --config "$run/host.toml" --markdown "${policies[@]/#/--policy=}" "${@:4}"
    printf '\n'
}

policies=("${every[@]}")
table steady steady "--seconds 30 --rate 400 --bytes 16384"
table spiky bursty "--seconds 120 --rate 10"
table idle idle "--seconds 30"
table catch-up catch-up "--seconds 30 --rate 200"
table catch-up-fast catch-up "--seconds 30 --rate 200" --store s3-express
table seek seek "--seconds 30 --rate 200"
policies=("${large[@]}")
table catch-up-large catch-up "--seconds 30 --rate 200"
