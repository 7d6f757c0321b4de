"""Runs the tests of the codecs against libjpeg-turbo 2.1 and 3, each with the binary interface of libjpeg 6.2, 7 and 8.

The sources come from crates that carry them, fetched by cargo, which checks their hashes; cmake builds them into
build/libjpeg. TestLibjpegInterfaces of go/tests holds what a build says that meets another library.
Usage: libjpeg_versions.py [VERSION-ABI ...], for example 3.1.0-80; all without an argument.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import toolchain

ROOT = toolchain.ROOT
BUILD = ROOT / "build" / "libjpeg"
# versions of libjpeg-turbo, and of turbojpeg-sys with its sources
CRATES = {"2.1.3": "0.2.3", "3.1.0": "1.1.1"}
INTERFACES = {"62": [], "70": ["-DWITH_JPEG7=1"], "80": ["-DWITH_JPEG8=1"]}
PACKAGES = ["./core/codec/jpeg", "./core/codec"]


def main(wanted: list[str]) -> int:
    every = [f"{version}-{interface}" for version in CRATES for interface in INTERFACES]
    for name in wanted:
        if name not in every:
            print(f"unknown library {name!r}, want some of {every}", file=sys.stderr)
            return 2
    go = toolchain.find_go()
    failed = []
    for name in wanted or every:
        prefix = built(*name.split("-"))
        print(f"== libjpeg-turbo {name}", flush=True)
        flags = {
            "CGO_CFLAGS": f"-O2 -g -I{prefix / 'include'}",
            "CGO_LDFLAGS": f"-L{prefix / 'lib'} -Wl,-rpath,{prefix / 'lib'}",
        }
        env = {**toolchain.go_env(go), **flags}
        tags = ["-tags", ",".join(toolchain.BASE_TAGS)]
        if subprocess.run([str(go), "test", "-count=1", *tags, *PACKAGES], cwd=ROOT, env=env).returncode:
            failed.append(name)
    if failed:
        print(f"failed with libjpeg-turbo {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


def built(version: str, interface: str) -> Path:
    """The folder where a library is installed, after building it if need be."""
    prefix = BUILD / f"{version}-{interface}"
    if (prefix / "lib" / "libjpeg.so").exists():
        return prefix
    source = sources(version)
    work = BUILD / "work" / prefix.name
    shutil.rmtree(work, ignore_errors=True)
    configure = ["cmake", "-S", str(source), "-B", str(work), "-DCMAKE_BUILD_TYPE=Release", "-DENABLE_STATIC=0"]
    configure += ["-DWITH_TURBOJPEG=0", f"-DCMAKE_INSTALL_PREFIX={prefix}", f"-DCMAKE_INSTALL_LIBDIR={prefix / 'lib'}"]
    configure += INTERFACES[interface] + ([] if shutil.which("nasm") else ["-DWITH_SIMD=0"])
    run(configure)
    run(["cmake", "--build", str(work), "--target", "install", f"-j{os.cpu_count() or 1}"])
    return prefix


def sources(version: str) -> Path:
    """The sources of a version of libjpeg-turbo."""
    place = BUILD / f"sources-{version}"
    found = place / "vendor" / "turbojpeg-sys" / "libjpeg-turbo"
    if not found.exists():
        (place / "src").mkdir(parents=True, exist_ok=True)
        (place / "src" / "lib.rs").touch()
        package = '[package]\nname = "sources"\nversion = "0.0.0"\nedition = "2021"\n'
        dependency = f'[dependencies]\nturbojpeg-sys = {{ version = "={CRATES[version]}", default-features = false }}\n'
        (place / "Cargo.toml").write_text(package + dependency)
        run(["cargo", "vendor", "--quiet"], cwd=place)
    stated = re.search(r"^set\(VERSION ([\d.]+)\)", (found / "CMakeLists.txt").read_text(), re.MULTILINE)
    if stated is None or stated.group(1) != version:
        raise SystemExit(f"{found} holds libjpeg-turbo {stated and stated.group(1)}, want {version}")
    return found


def run(command: list[str], cwd: Path = ROOT) -> None:
    """Runs a command quietly; its output is shown when it fails."""
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} failed:\n{done.stdout[-2000:]}{done.stderr[-4000:]}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
