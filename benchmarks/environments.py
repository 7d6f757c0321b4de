"""An environment for each of the other loaders, made on demand from its own lock under requirements/peers.

They pin versions that exclude each other, so each has a virtual environment of its own under build/bench/peers. Torch
is gigabytes: a `.pth` file lets each find that of the environment this runs in, behind its own packages. So all run the
same torch, and none installs one.

python benchmarks/environments.py [--lock] [name...] makes the environments; with --lock it first resolves
requirements/peers/NAME.in anew into requirements/peers/NAME.txt.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import data

ROOT = Path(__file__).resolve().parent.parent
LOCKS = ROOT / "requirements" / "peers"
FOLDER = data.CACHE / "peers"
HERE = "here"  # the name of the environment that this runs in
# Libraries that building a peer from its sources needs beside a compiler: names for pkg-config.
LIBRARIES = {"ffcv": ("opencv4", "libturbojpeg")}
# Peers whose metadata refuse the torch of this environment, though they run with it. Their `.in`
# names all that they need beside the packages here, and pip adds nothing to it.
ALONE = ("lerobot",)
# No peer reports to its makers, and none looks for a model or a data set elsewhere.
QUIET = {
    "BUGGER_OFF": "true",
    "DEEPLAKE_DISABLE_TELEMETRY": "1",
    "DO_NOT_TRACK": "1",
    "DISABLE_TELEMETRY": "1",
    "HF_DATASETS_OFFLINE": "1",
    "HF_HUB_OFFLINE": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "LITDATA_DISABLE_VERSION_CHECK": "1",
    "DISABLE_LITDATA_VERSION_CHECK": "1",
    "LANCE_TELEMETRY": "0",
    "TF_CPP_MIN_LOG_LEVEL": "3",
    "TF_ENABLE_ONEDNN_OPTS": "1",
    "CUDA_VISIBLE_DEVICES": "",
    "NO_ALBUMENTATIONS_UPDATE": "1",
    "TOKENIZERS_PARALLELISM": "false",
}


class MissingError(Exception):
    """A peer cannot be here; the message says why, for the tables."""


def names() -> list[str]:
    """Returns the environments that there are."""
    return sorted(path.stem for path in LOCKS.glob("*.in"))


def python(name: str) -> str:
    """Returns the interpreter of an environment, made first where it is not there or its lock has changed.

    Raises:
        MissingError: it cannot be made on this machine.
    """
    if name == HERE:
        return sys.executable
    lock = LOCKS / f"{name}.txt"
    if not lock.exists():
        raise MissingError(f"no lock {lock.relative_to(ROOT)}; make it with: python benchmarks/environments.py --lock")
    folder, wanted = FOLDER / name, lock.read_text()
    stamp = folder / "installed"
    if not stamp.exists() or stamp.read_text() != wanted:
        data.say(f"making the environment of {name}")
        try:
            _empty(name)
            _pip(name, "install", "--no-deps", "--require-hashes", "-r", str(lock))
        except MissingError:
            shutil.rmtree(folder, ignore_errors=True)
            raise
        stamp.write_text(wanted)
    return str(folder / "bin" / "python")


def versions(name: str) -> dict[str, str]:
    """Returns the pinned versions of the measured packages: its `.in` names their versions."""
    pins = [line.split()[0].split("==") for line in _lines(LOCKS / f"{name}.txt") if "==" in line]
    pinned = {_plain(package): version for package, version in pins}
    wanted = [_plain(re.split(r"[=\[]", line)[0]) for line in _lines(LOCKS / f"{name}.in") if "==" in line]
    return {package: pinned[package] for package in wanted if package in pinned}


def _plain(package: str) -> str:
    """Returns the name of a package as indexes compare it."""
    return re.sub(r"[-_.]+", "-", package).lower()


def lock(name: str) -> None:
    """Resolves an environment anew, and writes the installed packages into its lock."""
    _empty(name)
    alone = ["--no-deps", "--ignore-installed"] if name in ALONE else []
    _pip(name, "install", *alone, "-r", str(LOCKS / f"{name}.in"))
    frozen = _pip(name, "freeze", "--local", "--exclude", "pip", "--exclude", "setuptools")
    own = [line for line in frozen.splitlines() if "==" in line]
    if "setuptools" in (LOCKS / f"{name}.in").read_text():
        own += [line for line in _pip(name, "freeze", "--local", "--all").splitlines() if line.startswith("setuptools")]
    pinned = FOLDER / name / "pinned.txt"
    pinned.write_text("".join(f"{line}\n" for line in sorted(own, key=str.lower)))
    _hash(pinned, LOCKS / f"{name}.txt", f"python benchmarks/environments.py --lock {name}")
    (FOLDER / name / "installed").write_text((LOCKS / f"{name}.txt").read_text())


def _hash(pinned: Path, lock: Path, command: str) -> None:
    """Writes the pinned packages into a lock with the hashes of all their files."""
    uv = Path(sys.executable).with_name("uv")
    if not uv.exists():
        raise MissingError(f"no {uv.name} beside {sys.executable}; `make lock` installs it")
    options = ["--quiet", "--no-deps", "--no-annotate", "--no-emit-index-url", "--generate-hashes"]
    header = ["--custom-compile-command", command]
    subprocess.run([str(uv), "pip", "compile", *options, *header, str(pinned), "-o", str(lock)], check=True)


def _empty(name: str) -> None:
    absent = [library for library in LIBRARIES.get(name, ()) if not _has(library)]
    if absent:
        raise MissingError(f"builds from source only, and pkg-config finds no {' and no '.join(absent)} here")
    folder = FOLDER / name
    FOLDER.mkdir(parents=True, exist_ok=True)
    subprocess.run([sys.executable, "-m", "venv", "--clear", str(folder)], check=True)
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    shared = folder / "lib" / version / "site-packages" / "shared.pth"
    shared.write_text(sysconfig.get_path("purelib") + "\n")


def _has(library: str) -> bool:
    found = shutil.which("pkg-config")
    return found is not None and subprocess.run([found, "--exists", library], check=False).returncode == 0


def _pip(name: str, *arguments: str) -> str:
    folder = FOLDER / name
    scratch = folder / "tmp"
    scratch.mkdir(exist_ok=True)
    command = [str(folder / "bin" / "python"), "-m", "pip", "--disable-pip-version-check", *arguments]
    if arguments[0] == "install":
        command += ["--quiet", "--no-cache-dir"]
    done = subprocess.run(
        command, check=False, capture_output=True, text=True, env=os.environ | {"TMPDIR": str(scratch)}
    )
    shutil.rmtree(scratch, ignore_errors=True)
    if done.returncode:
        last = [line.strip() for line in done.stderr.splitlines() if line.lower().startswith("error")]
        raise MissingError(f"pip: {(last or done.stderr.strip().splitlines() or ['no reason given'])[-1]}")
    return done.stdout


def _lines(path: Path) -> list[str]:
    lines = [line.split("#")[0].strip() for line in path.read_text().splitlines()]
    return [line for line in lines if line]


def main() -> int:
    parser = argparse.ArgumentParser(description="makes the environments of other loaders")
    parser.add_argument("--lock", action="store_true", help="resolve requirements/peers/NAME.in anew first")
    parser.add_argument("names", nargs="*", help=f"of {', '.join(names())}; none means all")
    arguments = parser.parse_args()
    failed = 0
    for name in arguments.names or names():
        try:
            if arguments.lock:
                lock(name)
            print(f"{name}: {python(name)}", flush=True)
        except MissingError as error:
            print(f"{name}: {error}", flush=True)
            failed += 1
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
