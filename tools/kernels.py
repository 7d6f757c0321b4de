"""Compiles cuda/kernels/*.cu, as one program, to kernels.fatbin: machine code for each architecture, and PTX for later
ones.

NVRTC compiles without a GPU and without a CUDA toolkit. The library embeds the result, so that builds need neither.
Beside it, kernels.json records the compiler and a digest of the sources: a test refuses a fat binary of other sources.

`kernels.py` compiles; `kernels.py --check` compares the digests; `kernels.py --include` prints the folder of cuda.h.
"""

from __future__ import annotations

import ctypes
import hashlib
import json
import sys
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "cuda/kernels"
FATBIN, RECORD = FOLDER / "kernels.fatbin", FOLDER / "kernels.json"
HEADERS = {
    "device.cuh": FOLDER / "device.cuh",
    "tasks.h": FOLDER / "tasks.h",
    "../../core/codec/jpeg/packed.h": ROOT / "core/codec/jpeg/packed.h",
    "../../core/transform/packed.h": ROOT / "core/transform/packed.h",
}

# Ampere (A100, RTX 30), Ada, Hopper, Blackwell. Later ones compile the PTX.
ARCHITECTURES = (80, 86, 89, 90, 100, 120)
PTX = 80

# NVRTC has no standard headers.
STDINT = (
    "\n".join(
        f"typedef {'unsigned ' if sign else ''}{name} {sign}int{bits}_t;"
        for bits, name in ((8, "char"), (16, "short"), (32, "int"), (64, "long long"))
        for sign in ("", "u")
    ).replace("typedef char", "typedef signed char")
    + "\ntypedef unsigned long long uintptr_t;\n"
)


def digest() -> str:
    """Returns the SHA-256 of all sources, with their names."""
    found = hashlib.sha256()
    for path in [*sorted(FOLDER.glob("*.cu")), *sorted(HEADERS.values())]:
        found.update(f"{path.relative_to(ROOT)}\0".encode() + path.read_bytes() + b"\0")
    return found.hexdigest()


def _find(path: str) -> Path:
    """Returns a file of NVIDIA's packages."""
    spec = find_spec("nvidia")
    for folder in spec.submodule_search_locations or () if spec else ():
        if (Path(folder) / path).exists():
            return Path(folder) / path
    raise SystemExit(f"there is no {path}; run `make kernels`, which installs requirements/gpu.txt")


def _library(path: str) -> Any:
    return ctypes.CDLL(str(_find(path)))


class Compiler:
    """NVRTC."""

    def __init__(self) -> None:
        self.lib = _library("cuda_nvrtc/lib/libnvrtc.so.12")

    def compile(self, option: str, kind: str) -> bytes:
        """Returns the code of all sources: kind is "CUBIN" or "PTX"."""
        program = ctypes.c_void_p()
        sources = {path.name: path for path in sorted(FOLDER.glob("*.cu"))}
        whole = "".join(f'#include "{name}"\n' for name in sources)
        headers = {"stdint.h": STDINT, **{name: path.read_text() for name, path in (HEADERS | sources).items()}}
        texts = (ctypes.c_char_p * len(headers))(*(text.encode() for text in headers.values()))
        names = (ctypes.c_char_p * len(headers))(*(name.encode() for name in headers))
        self._call(
            "nvrtcCreateProgram",
            ctypes.byref(program),
            whole.encode(),
            b"kernels.cu",
            len(headers),
            texts,
            names,
        )
        # Each product is rounded by itself, as on the CPU.
        options = [option, "--std=c++17", "--restrict", "--fmad=false", "--extra-device-vectorization"]
        listed = (ctypes.c_char_p * len(options))(*(one.encode() for one in options))
        if self.lib.nvrtcCompileProgram(program, len(options), listed) != 0:
            raise SystemExit(f"{option}:\n{self._text('ProgramLog', program).decode()}")
        return self._text(kind, program)

    def _text(self, what: str, program: Any) -> bytes:
        size = ctypes.c_size_t()
        self._call(f"nvrtcGet{what}Size", program, ctypes.byref(size))
        room = ctypes.create_string_buffer(size.value)
        self._call(f"nvrtcGet{what}", program, room)
        return room.raw

    def _call(self, name: str, *arguments: Any) -> None:
        code = getattr(self.lib, name)(*arguments)
        if code != 0:
            raise SystemExit(f"{name} failed with NVRTC error {code}")


def fat_binary(parts: list[tuple[str, str, str, bytes]]) -> bytes:
    """Returns one file of several (kind, architecture, name, code)."""
    lib = _library("nvfatbin/lib/libnvfatbin.so.12")
    handle, size = ctypes.c_void_p(), ctypes.c_size_t()

    def call(name: str, *arguments: Any) -> None:
        code = getattr(lib, name)(*arguments)
        if code != 0:
            raise SystemExit(f"{name} failed with nvFatbin error {code}")

    options = (ctypes.c_char_p * 2)(b"-64", b"-compress=true")
    call("nvFatbinCreate", ctypes.byref(handle), options, ctypes.c_size_t(2))
    for kind, architecture, name, code in parts:
        more = (b"",) if kind == "PTX" else ()
        call(
            f"nvFatbinAdd{kind}", handle, code, ctypes.c_size_t(len(code)), architecture.encode(), name.encode(), *more
        )
    call("nvFatbinSize", handle, ctypes.byref(size))
    out = ctypes.create_string_buffer(size.value)
    call("nvFatbinGet", handle, out)
    return out.raw


def main() -> None:
    if "--include" in sys.argv[1:]:
        print(_find("cuda_runtime/include/cuda.h").parent)
        return
    if "--check" in sys.argv[1:]:
        record = json.loads(RECORD.read_text())
        if record["sources"] != digest() or record["binary"] != hashlib.sha256(FATBIN.read_bytes()).hexdigest():
            raise SystemExit("cuda/kernels/kernels.fatbin is not of these sources; run `make kernels`")
        print(f"kernels.fatbin is of its sources, by NVRTC {record['nvrtc']}")
        return
    compiler = Compiler()
    parts = [
        ("Cubin", str(one), "kernels", compiler.compile(f"--gpu-architecture=sm_{one}", "CUBIN"))
        for one in ARCHITECTURES
    ]
    parts.append(("PTX", str(PTX), "kernels", compiler.compile(f"--gpu-architecture=compute_{PTX}", "PTX")))
    binary = fat_binary(parts)
    FATBIN.write_bytes(binary)
    record = {
        "nvrtc": version("nvidia-cuda-nvrtc-cu12"),
        "architectures": list(ARCHITECTURES),
        "ptx": PTX,
        "sources": digest(),
        "binary": hashlib.sha256(binary).hexdigest(),
    }
    RECORD.write_text(json.dumps(record, indent=2) + "\n")
    print(f"kernels.fatbin: {len(binary):,} bytes for {', '.join(f'sm_{a}' for a in ARCHITECTURES)} and PTX")


if __name__ == "__main__":
    main()
