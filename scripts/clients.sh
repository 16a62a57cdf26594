#!/usr/bin/env bash
# Installs Kafka clients for interop into the cache folder, and prints that folder. Arguments choose parts (java, python, franz,
# kafkajs); none means all. A part is made anew when what it is made of changes.
source "$(dirname "$0")/lib.sh"

clients=$cache/clients
programs=$root/tests/interop/programs

need() {
    command -v "$1" >/dev/null || fail "$1 is missing: $2"
}

# made PART INPUT...: whether the part was made of just these; if not, what there is of it goes.
made() {
    local part=$clients/$1 inputs
    shift
    inputs=$(printf '%s\n' "$KAFKA_VERSION" "$PYTHON_CLIENTS" | cat - "$@" | sha256sum)
    [ "$(cat "$part.made" 2>/dev/null)" = "$inputs" ] && return
    rm -rf "$part" "$part.made"
    mkdir -p "$part"
    making=$inputs
    say "installing the client ${part##*/}"
    return 1
}

done_with() {
    printf '%s\n' "$making" >"$clients/$1.made"
}

setup_java() {
    local libs
    need javac "install a JDK, 17 or later"
    libs=$(scripts/kafka.sh)
    made java "$programs/java/Client.java" && return
    javac -cp "$libs/*" -d "$clients/java" -Xlint:all,-classfile,-try -Werror "$programs/java/Client.java" >&2
    done_with java
}

setup_python() {
    made python && return
    python3 -m venv "$clients/python"
    # shellcheck disable=SC2086
    "$clients/python/bin/pip" install --quiet --disable-pip-version-check $PYTHON_CLIENTS >&2
    done_with python
}

setup_franz() {
    need go "install Go, 1.26 or later"
    made franz "$programs"/franz/* && return
    export GOMODCACHE=$cache/go/mod GOCACHE=$cache/go/build GOFLAGS="-modcacherw -buildvcs=false"
    (cd "$programs/franz" && go vet . && go build -trimpath -o "$clients/franz/franz" .) >&2
    done_with franz
}

setup_kafkajs() {
    need npm "install Node.js, 18 or later"
    made kafkajs "$programs"/kafkajs/package*.json && return
    cp "$programs"/kafkajs/package*.json "$clients/kafkajs"
    (cd "$clients/kafkajs" && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error) >&2
    done_with kafkajs
}

mkdir -p "$clients"
[ $# -gt 0 ] || set -- java python franz kafkajs
for part in "$@"; do
    "setup_$part"
done
printf '%s\n' "$clients"
