"""The locks of requirements/: each list is pinned, at the versions of lock.txt, by the hashes of its files."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

REQUIREMENTS = Path(__file__).resolve().parents[2] / "requirements"
LISTS = sorted(path.stem for path in REQUIREMENTS.glob("*.in"))


def pins(path):
    """Returns the hashes of each `name==version` in a lock, lines of one requirement joined."""
    text = re.sub(r"\\\n\s*", " ", path.read_text())
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    return {line.split()[0]: re.findall(r"--hash=sha256:([0-9a-f]{64})\b", line) for line in lines}


def names(path):
    lines = [line.split("#")[0].strip() for line in path.read_text().splitlines()]
    return {re.match(r"[A-Za-z0-9._-]+", line)[0].lower().replace("_", "-") for line in lines if line}


def test_the_lists_are_those_of_the_makefile():
    makefile = (REQUIREMENTS.parent / "Makefile").read_text()
    assert sorted(re.search(r"^LISTS\s*:= (.*)$", makefile, re.MULTILINE)[1].split()) == LISTS
    installed = re.findall(r"-r (\S+)", makefile)
    assert installed and all(not name.endswith(".in") for name in installed), "nothing is installed without hashes"


def test_workflows_install_tools_by_hashes():
    """Only the package itself, as users install it, comes without hashes."""
    seen = 0
    for path in sorted((REQUIREMENTS.parent / ".github" / "workflows").glob("*.yml")):
        text = re.sub(r"(?m)(^|\s)#.*$", "", path.read_text())
        assert not re.search(r"\bpipx\b|\buvx?\b", text), path
        for arguments in re.findall(r"\bpip3? install ([^\n&|;]*)", text):
            seen += 1
            assert arguments.strip() == "." or "--require-hashes -r requirements/" in arguments, (path, arguments)
    assert seen >= 3


@pytest.mark.parametrize("name", LISTS)
def test_a_lock_pins_its_list_by_hashes(name):
    locked, versions = pins(REQUIREMENTS / f"{name}.txt"), pins(REQUIREMENTS / "lock.txt")
    assert names(REQUIREMENTS / f"{name}.in") <= {pin.split("==")[0] for pin in locked}
    assert all(hashes for hashes in locked.values()), [pin for pin, hashes in locked.items() if not hashes]
    assert set(locked) <= set(versions), "the lists agree on versions"


@pytest.mark.parametrize("lock", sorted((REQUIREMENTS / "peers").glob("*.txt")), ids=lambda path: path.stem)
def test_locks_of_other_loaders_have_hashes(lock):
    locked = pins(lock)
    assert locked and all(locked.values()), [pin for pin, hashes in locked.items() if not hashes]
