#!/usr/bin/env bash
# The protocol as specified must hold, and must break without any of its rules. Arguments go to the model.
source "$(dirname "$0")/lib.sh"

[ $# -gt 0 ] || set -- --all
python3 -B tests/model/commit.py "$@"
