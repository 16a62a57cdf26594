#!/usr/bin/env bash
# Installs Apache Kafka (broker, clients and tools, as jars from Maven Central) into the cache folder, and prints that folder.
# What is there already is left alone.
source "$(dirname "$0")/lib.sh"

libs=$cache/kafka-$KAFKA_VERSION
if [ ! -d "$libs" ]; then
    say "installing Apache Kafka $KAFKA_VERSION into $libs"
    for tool in java mvn; do
        command -v "$tool" >/dev/null || fail "$tool is missing: install a JDK, 17 or later, and Maven"
    done
    mkdir -p "$cache"
    new=$(mktemp -d "$cache/kafka.XXXXXX") # on the same disk, so that the move is atomic
    trap 'rm -rf "$new"' EXIT
    cat >"$new/pom.xml" <<POM
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>tidegate</groupId>
  <artifactId>interop</artifactId>
  <version>1</version>
  <packaging>pom</packaging>
  <dependencies>
    <dependency><groupId>org.apache.kafka</groupId><artifactId>kafka_2.13</artifactId><version>$KAFKA_VERSION</version></dependency>
    <dependency><groupId>org.apache.kafka</groupId><artifactId>kafka-tools</artifactId><version>$KAFKA_VERSION</version></dependency>
    <dependency><groupId>org.apache.logging.log4j</groupId><artifactId>log4j-slf4j-impl</artifactId><version>$LOG4J_VERSION</version></dependency>
  </dependencies>
</project>
POM
    mvn --batch-mode --quiet -Dstyle.color=never --file "$new/pom.xml" dependency:copy-dependencies -DincludeScope=runtime "-DoutputDirectory=$new/libs" >&2 ||
        fail "Apache Kafka $KAFKA_VERSION could not be installed"
    mv "$new/libs" "$libs"
fi
printf '%s\n' "$libs"
