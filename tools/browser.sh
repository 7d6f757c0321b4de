#!/bin/sh
# Sees to a browser for the tests of the visualizer's page: Chromium of the system. As root with apt-get it installs
# Debian's; otherwise it names the package, and these tests are skipped.
set -eu
for name in "${DEEPLAKE_CHROMIUM:-chromium}" chromium-browser google-chrome google-chrome-stable; do
    command -v "$name" >/dev/null && exit 0
done
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    export DEBIAN_FRONTEND=noninteractive
    install="apt-get install -y -q --no-install-recommends chromium"
    $install >/dev/null 2>&1 || { apt-get update -q && $install; } >/dev/null 2>&1 || true
fi
command -v chromium >/dev/null ||
    echo "there is no browser: tests of the visualizer's page are skipped; install Debian's package chromium" >&2
