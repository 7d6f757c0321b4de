"""Gathers the licences of everything that a wheel carries beside our own code into THIRD_PARTY_NOTICES.txt.

That is Go's runtime and the modules that libdeeplake.so is linked from, as `go list` names them, pybind11, whose
headers the extension is compiled from, the packages of npm in the visualizer's page, and the C libraries that wheels
bundle, whose texts lie in tools/notices/.

`notices.py` writes the file; `notices.py --check` fails where the file is not what it would write.
"""

from __future__ import annotations

import importlib.metadata
import json
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import toolchain

ROOT = toolchain.ROOT
TARGET = ROOT / "THIRD_PARTY_NOTICES.txt"
NAMES = ("LICENSE", "LICENCE", "COPYING", "NOTICE", "PATENTS")
RULE = "=" * 100


def go_modules(go: Path) -> list[tuple[str, str, set[Path]]]:
    """Returns name, version and the folders of linked packages of each module in libdeeplake.so."""
    command = [str(go), "list", "-deps", "-tags", ",".join(toolchain.BASE_TAGS), "-json=Dir,Module,Standard", "./capi"]
    # The packages of the wheels' platform, whatever machine this runs on.
    env = {**toolchain.go_env(go), "GOOS": "linux", "GOARCH": "amd64", "GOFLAGS": "-mod=readonly"}
    text = subprocess.run(command, cwd=ROOT, env=env, check=True, capture_output=True, text=True).stdout
    folders: dict[tuple[str, str, str], set[Path]] = defaultdict(set)
    decoder, at = json.JSONDecoder(), 0
    while at < len(text.rstrip()):
        package, at = decoder.raw_decode(text, at)
        at += len(text[at:]) - len(text[at:].lstrip())
        module = package.get("Module")
        if module and "Version" in module:
            folders[module["Path"], module["Version"], module["Dir"]].update(_upwards(package["Dir"], module["Dir"]))
    return [(path, version, found) for (path, version, _), found in sorted(folders.items())]


def _upwards(folder: str, root: str) -> set[Path]:
    """Returns the folder and those above it, up to root."""
    parts = Path(folder).relative_to(root).parts
    return {Path(root, *parts[:n]) for n in range(len(parts) + 1)}


def licences(folders: set[Path]) -> list[str]:
    """Returns the texts of the licence files in the folders, each text once."""
    texts: dict[str, None] = {}
    for folder in sorted(folders):
        for file in sorted(folder.iterdir()):
            if file.is_file() and file.name.upper().startswith(NAMES) and file.suffix != ".go":
                texts[_clean(file.read_text(encoding="utf-8"))] = None
    return list(texts)


def page_packages() -> list[tuple[str, set[Path]]]:
    """Returns the packages of npm that the page may contain: those that its lock file does not mark as tools."""
    web = ROOT / "web"
    lock = json.loads((web / "package-lock.json").read_text(encoding="utf-8"))["packages"]
    found = []
    for place, package in sorted(lock.items()):
        if place and not package.get("dev") and not package.get("optional"):
            if not (web / place).is_dir():
                raise SystemExit(f"notices: {web / place} is missing; `make web` fetches it")
            found.append((f"{place.rpartition('node_modules/')[2]} {package['version']}", {web / place}))
    return found


def _clean(text: str) -> str:
    return "\n".join(line.rstrip() for line in text.replace("\f", "\n").splitlines()).strip("\n")


def notices() -> str:
    go = toolchain.find_go()
    goroot = go.parent.parent
    entries = [("Go, its standard library and runtime", licences({goroot}))]
    entries += [(f"{path} {version}", licences(folders)) for path, version, folders in go_modules(go)]
    pybind11 = importlib.metadata.distribution("pybind11")
    texts = [_clean(file.read_text()) for file in pybind11.files or () if file.name.upper().startswith(NAMES)]
    entries.append((f"pybind11 {pybind11.version}", texts))
    entries += [(name, licences(folders)) for name, folders in page_packages()]
    for file in sorted((ROOT / "tools" / "notices").glob("*.txt")):
        entries.append((file.stem, [_clean(file.read_text(encoding="utf-8"))]))
    for name, texts in entries:
        if not texts:
            raise SystemExit(f"notices: {name} has no licence file; look why, and add its text to tools/notices")
    # Modules that share their texts, as those of one vendor do, stand above one copy.
    grouped: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for name, texts in entries:
        grouped[tuple(texts)].append(name)
    parts = [
        "Wheels of deeplake carry code of the projects below, under the licences that follow their names.\n"
        "Made by tools/notices.py; not to be edited."
    ]
    parts += ["\n".join([RULE, *names, RULE, "", "\n\n".join(texts)]) for texts, names in grouped.items()]
    return "\n\n".join(parts) + "\n"


def main() -> int:
    wanted = notices()
    if "--check" in sys.argv[1:]:
        if not TARGET.exists() or TARGET.read_text(encoding="utf-8") != wanted:
            print(f"{TARGET.name} is not what tools/notices.py writes now; run `make notices`", file=sys.stderr)
            return 1
        print(f"{TARGET.name} names everything that is linked")
        return 0
    TARGET.write_text(wanted, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
