#!/usr/bin/env bash
# The protocol as specified must hold, and must break without any of its rules. Without arguments: at bounds, and for
# rules, that take a minute; `--all` takes many. Arguments go to the model.
source "$(dirname "$0")/lib.sh"

check() { python3 -B tests/model/commit.py "$@"; }

if [ $# -gt 0 ]; then
    check "$@"
    exit
fi
check --opens 2 --segments 2 --partitions 2 --trims 1
check --opens 2 --segments 3 --trims 1
for rule in window jump manifest-if-match own-write in-order manifest-first checkpoint-first; do
    # Only the first line: the trace is for whoever breaks a rule.
    trace=$(check --break "$rule") || fail "the model finds nothing wrong without rule $rule"
    printf 'without %s: %s\n' "$rule" "${trace%%$'\n'*}"
done
