#!/bin/sh
# Builds the fake CUDA driver, with the kernels of cuda/kernels compiled for the host, as the library
# that its argument names.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
objects=$(mktemp -d)
trap 'rm -rf "$objects"' EXIT
for source in state stream nvjpeg; do
    ${CC:-cc} -std=gnu11 -O1 -g -fPIC -pthread -c -o "$objects/$source.o" "$here/$source.c"
done
${CXX:-c++} -std=c++17 -O2 -ffp-contract=off -U_FORTIFY_SOURCE -g -shared -fPIC -pthread -o "$1" "$objects"/*.o \
    "$here/device.cpp" -x c++ -include "$here/device.h" "$here/../../../cuda/kernels/"*.cu -ldl
