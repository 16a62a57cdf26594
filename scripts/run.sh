#!/usr/bin/env bash
# Builds everything and serves on a local directory with the bundled policies bound to every topic. More arguments
# go to `tidegate serve`.
source "$(dirname "$0")/lib.sh"

profile=${PROFILE:-release}
export TIDEGATE_PLUGINS=$target/plugins
PROFILE=$profile scripts/plugins.sh

bindings=()
for bound in flush=flush-adaptive index=index-spacing read-ahead=read-ahead-fixed; do
    bindings+=(--bind "$bound")
done
exec "$(binary "$profile")" serve --data-dir "${TIDEGATE_DATA:-$root/data}" --plugins "$TIDEGATE_PLUGINS" "${bindings[@]}" "$@"
