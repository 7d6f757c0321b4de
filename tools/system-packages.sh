#!/bin/sh
# Sees to what a build needs from the system: compilers, Python's headers and venv, headers of libjpeg, libdeflate and
# libzstd. As root with apt-get it installs what is missing; otherwise it names it and fails. These three libraries may
# be missing: the build then says so and takes Go's slower codecs.
# Usage: system-packages.sh PYTHON
set -eu
python=${1:-python3}

compiles() { # compiles CODE: whether the C compiler takes it
    printf '%s\n' "$1" | cc -x c -fsyntax-only - 2>/dev/null
}

missing() { # prints the Debian packages that are missing
    command -v cc >/dev/null || echo gcc libc6-dev
    command -v c++ >/dev/null || echo g++
    # libjpeg-dev is libjpeg62-turbo-dev on Debian and libjpeg-turbo8-dev on Ubuntu.
    compiles '#include <stdio.h>
#include <jpeglib.h>' || echo libjpeg-dev
    compiles '#include <libdeflate.h>' || echo libdeflate-dev
    compiles '#include <zstd.h>' || echo libzstd-dev
    if ! command -v "$python" >/dev/null; then
        echo python3 python3-venv python3-dev
    else
        "$python" -c 'import ensurepip, venv' 2>/dev/null || echo python3-venv
        "$python" -c 'import pathlib, sys, sysconfig
sys.exit(not pathlib.Path(sysconfig.get_path("include"), "Python.h").exists())' || echo python3-dev
    fi
}

packages=$(missing)
if [ -n "$packages" ] && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    export DEBIAN_FRONTEND=noninteractive
    # shellcheck disable=SC2086 # a list of words
    apt-get install -y -q $packages || { apt-get update -q && apt-get install -y -q $packages; }
    packages=$(missing)
fi
if [ -n "$packages" ]; then
    echo "missing on this system, by the names of Debian's packages:" $packages >&2
    for package in $packages; do
        case $package in libjpeg-dev | libdeflate-dev | libzstd-dev) ;; *) exit 1 ;; esac
    done
fi
"$python" -c 'import sys
if sys.version_info < (3, 10):
    sys.exit(f"{sys.executable} is Python {sys.version.split()[0]}, want 3.10 or newer; name another with: make PYTHON=python3.12")'
free=$(df -Pk . | awk 'NR == 2 { print int($4 / 1048576) }')
[ "${free:-99}" -ge 16 ] || echo "warning: ${free} GiB of disk are free here; the build and the packages of the tests take up to 16" >&2
