#!/bin/sh
# Runs the tests of what is written in C under the address and undefined-behaviour sanitizers, their fuzz corpora among
# them, and those of the loader under the race detector. The first thing that a sanitizer finds ends a run.
# Usage: sanitize.sh quick|all GO: quick is the sanitizers of one compiler, all those of gcc and clang and the race detector.
set -eu
how=$1
go=$2
tags=$(cat .venv/stamps/tags),invariants

# A test asks for memory that no machine has, and wants an error. The runtime of the undefined-behaviour sanitizer may
# be linked before the other one, which that takes for a mistake.
export ASAN_OPTIONS=allocator_may_return_null=1:verify_asan_link_order=0 UBSAN_OPTIONS=print_stacktrace=1
undefined="-fsanitize=undefined -fno-sanitize-recover=all"

sanitized() { # sanitized CC: the packages with C in them, then the readers of files that contradict their directories
    echo "== address and undefined-behaviour sanitizers of $1"
    CC=$1 CGO_CFLAGS="-g -O1 $undefined" CGO_LDFLAGS="$undefined" "$go" test -asan -count=1 -tags "$tags" -timeout 20m \
        ./core/codec/jpeg ./core/codec/png ./core/transform ./core/compute ./core/slab ./core/media/color ./core/media/ffmpeg
    CC=$1 CGO_CFLAGS="-g -O1 $undefined" CGO_LDFLAGS="$undefined" "$go" test -asan -count=1 -tags "$tags" \
        -run 'AgainstFile' ./core/scan
    # The kernels run as fibers there, which the search for leaks does not know; the fake driver counts leaks itself.
    CC=$1 CGO_CFLAGS="-g -O1 $undefined" CGO_LDFLAGS="$undefined" ASAN_OPTIONS=$ASAN_OPTIONS:detect_leaks=0 \
        "$go" test -asan -count=1 -tags "$tags" ./cuda
}

# Go wants a compiler that it knows by name.
first=gcc
command -v gcc >/dev/null || first=clang
sanitized "$first"
[ "$how" != quick ] || exit 0
if [ "$first" = gcc ] && command -v clang >/dev/null; then sanitized clang; fi
echo "== race detector over the loader, its readers and the C interface"
exec "$go" test -race -count=1 -tags "$tags" -timeout 30m ./core/loader ./core/scan ./core/codec/... ./core/transform ./core/media/... ./core/session ./capi
