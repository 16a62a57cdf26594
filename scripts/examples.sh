#!/usr/bin/env bash
# Builds the policies of examples/ that are written in other languages than Rust, and plays their scenarios. Arguments choose
# (c, js, python); none means all. With --test first: builds the binary before, and runs each in a broker after.
source "$(dirname "$0")/lib.sh"

testing=
if [ "${1:-}" = --test ]; then
    testing=yes
    shift
    scripts/setup.sh kcat
    cargo build --locked --workspace --bin tidegate
fi
out=${TIDEGATE_PLUGINS:-$target/plugins}/examples
tidegate=${TIDEGATE_BIN:-$(binary dev)}
[ -x "$tidegate" ] || fail "$tidegate is missing: build it first, for example with scripts/plugins.sh"
mkdir -p "$out"

example_c() {
    scripts/setup.sh clang
    clang --target=wasm32 -Os -Wall -Wextra -Wno-unused-parameter -nostdlib -Wl,--no-entry,--strip-all -o "$out/policy-c.module.wasm" examples/policy-c/policy.c
    "$tidegate" plugin wrap "$out/policy-c.module.wasm" --kind flush --out "$out/policy-c.wasm"
    "$tidegate" plugin test "$out/policy-c.wasm" --scenarios examples/policy-c/scenarios.toml
}

example_js() {
    local tool=$cache/componentize-qjs-$COMPONENTIZE_QJS_VERSION
    command -v npm >/dev/null || fail "npm is missing: install Node.js"
    [ -x "$tool/node_modules/.bin/componentize-qjs" ] || npm install --silent --prefix "$tool" "componentize-qjs@$COMPONENTIZE_QJS_VERSION"
    "$tool/node_modules/.bin/componentize-qjs" --wit wit --world index-policy --js examples/policy-js/policy.js --stub-wasi --sync --opt-size --minify \
        --output "$out/policy-js.wasm"
    "$tidegate" plugin test "$out/policy-js.wasm" --scenarios examples/policy-js/scenarios.toml
}

example_python() {
    local venv=$cache/componentize-py-$COMPONENTIZE_PY_VERSION
    [ -x "$venv/bin/componentize-py" ] || { python3 -m venv "$venv" && "$venv/bin/pip" install --quiet --disable-pip-version-check "componentize-py==$COMPONENTIZE_PY_VERSION"; }
    "$venv/bin/componentize-py" --wit-path wit --world index-policy componentize --python-path examples/policy-python policy --stub-wasi \
        --output "$out/policy-python.wasm"
    # An interpreter is large: a broker that is to run it needs these limits too.
    "$tidegate" plugin test "$out/policy-python.wasm" --scenarios examples/policy-python/scenarios.toml \
        --component-bytes 33554432 --memory-bytes 67108864 --init-deadline-ms 5000 --compile-timeout-ms 300000
}

[ $# -gt 0 ] || set -- c js python
for language in "$@"; do
    "example_$language"
done
if [ -n "$testing" ]; then
    TIDEGATE_PLUGINS=${TIDEGATE_PLUGINS:-$target/plugins} TIDEGATE_BIN=$tidegate cargo test --locked --workspace --test examples -- --include-ignored --test-threads=1
fi
