#!/usr/bin/env bash
# Apache Kafka beside Tidegate, to compare answers with:
#   kafka-broker.sh with COMMAND...  runs a command with a fresh broker at TIDEGATE_KAFKA_BROKER (127.0.0.1, a free port)
#   kafka-broker.sh compare          whether it answers as tests/fixtures/kafka/codes.txt says
#   kafka-broker.sh record           writes that file anew
source "$(dirname "$0")/lib.sh"

# Two ports that were free a moment ago.
free_ports() {
    python3 -c 'import socket
held = [socket.create_server(("127.0.0.1", 0)) for _ in range(2)]
print(*(one.getsockname()[1] for one in held))'
}

# A broker and controller in one process, one replica of everything.
settings() {
    cat <<CONF
process.roles=broker,controller
node.id=1
listeners=PLAINTEXT://127.0.0.1:$port,CONTROLLER://127.0.0.1:$controller
advertised.listeners=PLAINTEXT://127.0.0.1:$port
controller.listener.names=CONTROLLER
controller.quorum.bootstrap.servers=127.0.0.1:$controller
log.dirs=$run/data
group.initial.rebalance.delay.ms=0
offsets.topic.replication.factor=1
offsets.topic.num.partitions=4
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
transaction.state.log.num.partitions=4
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
share.coordinator.state.topic.num.partitions=1
CONF
}

kafka() {
    java -Xms256m -Xmx1g -XX:+UseSerialGC -Dlog4j2.configurationFile="$run/log.properties" -cp "$jars/*" "$@" >>"$run/log" 2>&1
}

answers() {
    (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null
}

stop() {
    # shellcheck disable=SC2317
    if [ -n "${broker:-}" ]; then
        kill "$broker" 2>/dev/null || true
        wait "$broker" 2>/dev/null || true
    fi
    rm -rf "$run"
}

# Runs a command with a broker of its own.
with() {
    jars=$(scripts/kafka.sh)
    run=$(mktemp -d)
    read -r port controller < <(free_ports)
    trap stop EXIT
    settings >"$run/server.properties"
    printf '%s\n' 'rootLogger.level = WARN' 'appender.err.type = Console' 'appender.err.name = err' 'appender.err.target = SYSTEM_ERR' \
        'appender.err.layout.type = PatternLayout' 'appender.err.layout.pattern = %d %p %m (%c)%n' 'rootLogger.appenderRef.err.ref = err' \
        >"$run/log.properties"
    kafka kafka.tools.StorageTool format --standalone -t AAAAAAAAAAAAAAAAAAAAAQ -c "$run/server.properties" || fail "$(tail -n 20 "$run/log")"
    # Without the function around it: so the number is that of Java itself.
    java -Xms256m -Xmx1g -XX:+UseSerialGC -Dlog4j2.configurationFile="$run/log.properties" -cp "$jars/*" \
        kafka.Kafka "$run/server.properties" >>"$run/log" 2>&1 </dev/null &
    broker=$!
    local deadline=$((SECONDS + 120))
    until answers; do
        kill -0 "$broker" 2>/dev/null || fail "Apache Kafka ended at its start: $(tail -n 20 "$run/log")"
        [ $SECONDS -lt $deadline ] || fail "Apache Kafka does not answer: $(tail -n 20 "$run/log")"
        sleep 0.2
    done
    say "Apache Kafka $KAFKA_VERSION at 127.0.0.1:$port"
    TIDEGATE_KAFKA_BROKER=127.0.0.1:$port "$@"
}

case "${1:-}" in
with)
    shift
    with "$@"
    ;;
compare) with cargo test --workspace --locked --test kafka_codes the_record ;;
record) with env TIDEGATE_KAFKA_RECORD=1 cargo test --workspace --locked --test kafka_codes the_record ;;
*) fail "usage: kafka-broker.sh with COMMAND... | compare | record" ;;
esac
