#!/usr/bin/env bash
# Runs the fuzz targets for $1 seconds each.
source "$(dirname "$0")/lib.sh"

[ -x fuzz/run.sh ] || fail "fuzz/run.sh is missing"
exec fuzz/run.sh "${1:?seconds for each target}"
