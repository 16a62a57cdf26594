# Sourced by the scripts beside it: where things are, and how they speak.

set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"

# Downloads and, if a `target` folder is there, build output: kept between clones.
cache=${TIDEGATE_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/tidegate}
if [ -z "${CARGO_TARGET_DIR:-}" ] && [ -d "$cache/target" ]; then
    export CARGO_TARGET_DIR="$cache/target"
fi
target=${CARGO_TARGET_DIR:-$root/target}

SEAWEEDFS_VERSION=4.48
KAFKA_VERSION=4.4.0 # Apache Kafka: its clients, its tools, and its broker to compare with
LOG4J_VERSION=2.25.5
PYTHON_CLIENTS="confluent-kafka==2.16.1 aiokafka==0.14.0 cramjam==2.14.0"
COMPONENTIZE_QJS_VERSION=0.4.5 # JavaScript, with QuickJS
COMPONENTIZE_PY_VERSION=0.25.1
WASM_TARGETS=(wasm32-unknown-unknown wasm32-wasip2)

say() { printf '\n== %s\n' "$*" >&2; }
fail() {
    printf 'error: %s\n' "$*" >&2
    exit 1
}

as_root() {
    if [ "$(id -u)" = 0 ]; then
        "$@"
    else
        command -v sudo >/dev/null || fail "installing packages needs root: run '$*' as root"
        sudo "$@"
    fi
}

# Path of the built `tidegate` binary; $1 is the profile.
binary() {
    case "$1" in
    dev) printf '%s/debug/tidegate\n' "$target" ;;
    *) printf '%s/%s/tidegate\n' "$target" "$1" ;;
    esac
}
