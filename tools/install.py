"""Installs a list of requirements from its lock into this environment: `install.py requirements/test.txt`.

uv takes half of pip's time for the gigabytes of the tests. It does not read the configuration of pip, so this program
passes that on. If uv fails, pip installs the list.
"""

from __future__ import annotations

import ast
import os
import subprocess
import sys
import tempfile
from pathlib import Path

# By the settings of pip, those of uv.
SETTINGS = {
    "index-url": "UV_DEFAULT_INDEX",
    "extra-index-url": "UV_INDEX",
    "find-links": "UV_FIND_LINKS",
    "trusted-host": "UV_INSECURE_HOST",
    "cert": "SSL_CERT_FILE",
    "proxy": "ALL_PROXY",
    "default-timeout": "UV_HTTP_TIMEOUT",
    "timeout": "UV_HTTP_TIMEOUT",
}


def main() -> int:
    """Returns the exit status."""
    lock = sys.argv[1]
    if not by_uv(lock):
        print(f"uv could not install {lock}; pip does", file=sys.stderr)
        pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
        # torch unpacks to gigabytes: not in a /tmp that may be small.
        with tempfile.TemporaryDirectory(dir=Path(sys.prefix), prefix="pip-", ignore_cleanup_errors=True) as folder:
            command = [*pip, "--require-hashes", "-r", lock]
            return subprocess.run(command, env={**os.environ, "TMPDIR": folder}, check=False).returncode
    return 0


def by_uv(lock: str) -> bool:
    """Installs by uv, whose cache lies in the environment: files move from one to the other within a disk."""
    uv = Path(sys.executable).parent / "uv"
    with tempfile.TemporaryDirectory(dir=Path(sys.prefix), prefix="uv-", ignore_cleanup_errors=True) as cache:
        command = [str(uv), "pip", "install", "--quiet", "--python", sys.executable, "--cache-dir", cache]
        # PYTHONDONTWRITEBYTECODE would let every process compile torch again.
        command += ["--no-config", "--compile-bytecode", "--require-hashes", "--no-deps", "-r", lock]
        try:
            return subprocess.run(command, env={**os.environ, **settings()}, check=False).returncode == 0
        except OSError:
            return False


def settings() -> dict[str, str]:
    """Returns the settings of pip as variables for uv. Variables of pip override its files."""
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "config", "list"]
    listed = subprocess.run(pip, capture_output=True, text=True, check=False).stdout
    found: dict[str, str] = {}
    for line in sorted(listed.splitlines(), key=lambda line: line.startswith(":env:")):
        name, _, value = line.partition("=")
        variable = SETTINGS.get(name.rpartition(".")[2])
        if variable and variable not in os.environ:
            found[variable] = ("," if variable == "UV_FIND_LINKS" else " ").join(ast.literal_eval(value).split())
    return found


if __name__ == "__main__":
    sys.exit(main())
