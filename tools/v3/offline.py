"""Keeps the deeplake 3 package off the network. Import this module before the package."""

from __future__ import annotations

import atexit
import json
import os
import shutil
import socket
import tempfile
import time
import warnings
from pathlib import Path

VERSION = "3.9.52"


def prepare() -> None:
    """Gives the process a home without consent to reports, and refuses its connections."""
    home = Path(tempfile.mkdtemp(prefix="deeplake-v3-home-"))
    atexit.register(shutil.rmtree, home, ignore_errors=True)
    folder = home / ".activeloop"
    folder.mkdir()
    # Without a fresh answer here, the import asks PyPI for the newest version.
    (folder / "pypi_version.json").write_text(json.dumps([VERSION, time.time()]))
    (folder / "reporting_config.json").write_text('{"client_id": "none", "consent": false}')
    os.environ["HOME"] = str(home)
    os.environ["BUGGER_OFF"] = "true"
    os.environ["TQDM_DISABLE"] = "1"
    os.environ.pop("ACTIVELOOP_TOKEN", None)
    for module in ("deeplake", "PIL"):
        warnings.filterwarnings("ignore", module=module)
    connect = socket.socket.connect

    def refuse(self: socket.socket, address: object) -> None:
        if self.family in (socket.AF_INET, socket.AF_INET6):
            raise OSError(f"connection refused by tools/v3/offline.py: {address}")
        connect(self, address)  # type: ignore[arg-type]

    socket.socket.connect = refuse  # type: ignore[method-assign, assignment]


prepare()
