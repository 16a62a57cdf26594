#!/usr/bin/env bash
# Runs Kafka clients and tools against the broker on SeaweedFS (tests/interop/run.py). Arguments go there: names choose what is run, --list
# names them. TIDEGATE_BIN is a broker that is built already; else one is built, in PROFILE.
source "$(dirname "$0")/lib.sh"

profile=${PROFILE:-release}
case " $* " in *" --list "* | *" --help "*) exec python3 -B tests/interop/run.py "$@" ;; esac

TIDEGATE_KAFKA=$(scripts/kafka.sh)
TIDEGATE_CLIENTS=$(scripts/clients.sh)
scripts/setup.sh wasm kcat s3 >&2
export TIDEGATE_KAFKA TIDEGATE_CLIENTS
export TIDEGATE_WEED=${TIDEGATE_WEED:-$cache/seaweedfs-$SEAWEEDFS_VERSION/bin/weed}
if [ -z "${TIDEGATE_BIN:-}" ]; then
    TIDEGATE_BIN=$(binary "$profile")
    PROFILE=$profile scripts/plugins.sh >&2
fi
export TIDEGATE_BIN TIDEGATE_PLUGINS=${TIDEGATE_PLUGINS:-$target/plugins}
[ -d "$TIDEGATE_PLUGINS" ] || "$TIDEGATE_BIN" plugin build plugins/*/ --out "$TIDEGATE_PLUGINS" >&2
exec python3 -B tests/interop/run.py "$@"
