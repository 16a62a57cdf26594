#!/usr/bin/env bash
# Runs every fuzz target, $1 seconds in all.
source "$(dirname "$0")/lib.sh"

[ -x fuzz/run.sh ] || fail "fuzz/run.sh is missing"
exec fuzz/run.sh "${1:?seconds for all targets}"
