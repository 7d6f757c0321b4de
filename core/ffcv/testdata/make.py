"""Writes all.beton.gz, a file of FFCV with a field of each type, by the layout in python/tests/betons.py."""

import gzip
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[2] / "python" / "tests"))

from betons import FIELDS, samples, write  # noqa: E402

with TemporaryDirectory() as folder:
    path = Path(folder, "all.beton")
    write(path, FIELDS, samples(120), workers=2)
    (HERE / "all.beton.gz").write_bytes(gzip.compress(path.read_bytes(), 9, mtime=0))
