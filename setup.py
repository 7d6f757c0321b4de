"""Builds the two native parts of the package: libdeeplake.so (the Go core) and deeplake._native (its pybind11 face).

The extension is not linked against the core; it loads libdeeplake.so, which lies beside it, on first use.
"""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

from pybind11.setup_helpers import ParallelCompile, Pybind11Extension
from setuptools import setup
from setuptools.command.build_ext import build_ext
from setuptools.modified import newer_group

ROOT = Path(__file__).resolve().parent
LIBRARY = "libdeeplake.so"


def _load_toolchain():
    # The project's root is not on sys.path under build isolation, hence by path.
    spec = importlib.util.spec_from_file_location("toolchain", ROOT / "tools" / "toolchain.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


toolchain = _load_toolchain()


class BuildNative(build_ext):
    """Builds the Go core before the extension, and counts it among the outputs so that editable installs keep it."""

    def run(self):
        if self.editable_mode:
            # Not the throw-away folder that an editable install gets: unchanged objects are kept
            # between builds.
            self.build_temp = str(ROOT / "build" / f"objects-{sys.implementation.cache_tag}{sys.abiflags}")
        self._build_core()
        super().run()

    def get_outputs(self):
        return [*super().get_outputs(), str(self._package_folder() / LIBRARY)]

    def _package_folder(self):
        """Where the extension goes: the build folder, or the source tree when building in place."""
        return Path(self.get_ext_fullpath("deeplake._native")).parent

    def _build_core(self):
        if sys.platform == "win32":
            raise SystemExit("build deeplake: Windows is not supported; use Linux, or WSL on Windows")
        try:
            go = toolchain.find_go()
        except toolchain.MissingGoError as err:
            raise SystemExit(f"build {LIBRARY}: {err}") from None
        tags = toolchain.build_tags()
        if notice := toolchain.without(tags):
            print(notice, file=sys.stderr, flush=True)
        library = self._package_folder().absolute() / LIBRARY
        library.parent.mkdir(parents=True, exist_ok=True)
        # A process may have the old library mapped: a new file leaves it alone, writing into it
        # would crash it.
        library.unlink(missing_ok=True)
        # -trimpath and no VCS stamp: the same sources give the same bytes wherever they lie.
        command = [str(go), "build", "-buildmode=c-shared", "-trimpath", "-buildvcs=false", "-tags", ",".join(tags)]
        command += ["-ldflags", _link_flags(), "-o", str(library), "./capi"]
        print("building", LIBRARY, "with", go, flush=True)
        if subprocess.run(command, cwd=ROOT, env=toolchain.go_env(go)).returncode:
            raise SystemExit(f"build {LIBRARY}: go build said the above")
        # cgo writes a header of its own; the contract is capi/include/deeplake.h.
        library.with_suffix(".h").unlink(missing_ok=True)


def _link_flags():
    """No debug tables, and no symbol outside but those of the ABI: neither Go's runtime's nor static C libraries'."""
    if sys.platform == "darwin":
        outer = "-Wl,-exported_symbol,_dl_*"
    else:
        outer = f"-Wl,--exclude-libs,ALL '-Wl,--version-script={ROOT / 'capi' / 'exports.map'}'"
    # The build id would carry that path into the bytes.
    return f'-s -w -buildid= -extldflags "{outer}"'


HEADERS = sorted(str(h.relative_to(ROOT)) for d in ("python/src", "capi/include") for h in ROOT.glob(f"{d}/*.h*"))


def _needs_recompile(obj, src):
    return newer_group([src, *HEADERS], obj)


native = Pybind11Extension(
    "deeplake._native",
    sources=sorted(str(s.relative_to(ROOT)) for s in ROOT.glob("python/src/*.cpp")),
    depends=HEADERS,
    include_dirs=["capi/include"],
    libraries=["dl"] if sys.platform == "linux" else [],
    cxx_std=17,  # Pybind11Extension adds -fvisibility=hidden
)

with ParallelCompile("DEEPLAKE_BUILD_JOBS", needs_recompile=_needs_recompile):
    setup(ext_modules=[native], cmdclass={"build_ext": BuildNative})
