#!/bin/sh
# Runs every fuzz target for its share of SECONDS: fuzz/run.sh SECONDS [TARGET...]
# Works with a stable toolchain: coverage comes from LLVM's own pass, and no sanitizer is needed, since the
# code under test has no unsafe blocks. Fixtures are the seeds, inputs are kept in fuzz/corpus, those that fail in fuzz/artifacts.
set -eu
cd "$(dirname "$0")"
seconds=${1:?usage: fuzz/run.sh SECONDS [TARGET...]}
shift
[ $# -gt 0 ] || set -- $(for target in fuzz_targets/*.rs; do basename "$target" .rs; done)
host=$(rustc -vV | sed -n 's/^host: //p')
RUSTFLAGS="-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
-Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
-Cllvm-args=-sanitizer-coverage-trace-compares -Ccodegen-units=1 --cfg fuzzing"
export RUSTFLAGS
# With --target, build scripts are left without instrumentation.
${CARGO:-cargo} build --release --target "$host" --bins
share=$((seconds / $#))
[ "$share" -gt 0 ] || share=1
for target in "$@"; do
    mkdir -p "corpus/$target" "artifacts/$target"
    echo "$target: $share s"
    "target/$host/release/$target" -max_total_time="$share" -max_len=4096 -rss_limit_mb=1024 -malloc_limit_mb=256 -timeout=10 \
        -artifact_prefix="artifacts/$target/" -print_final_stats=1 "corpus/$target" ../tests/fixtures/formats
done
