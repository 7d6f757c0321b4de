"""Pages of the visualizer without a server: static files, and the dataset on the web."""

from __future__ import annotations

import json
import re
import shutil
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from deeplake._errors import AlreadyExistsError, InvalidArgumentError, NotFoundError

if TYPE_CHECKING:
    from deeplake._data.view import View

_PAGE = Path(__file__).parents[1] / "web"
_CONFIG = "deeplake.json"
_DATA = "data"
_HOST = re.compile(r"(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(?::[0-9]+)?")


def export(folder: Path, uri: str, *, source: View | None, at: str, query: str) -> None:
    """Writes a page into a folder, which shows a dataset on the web, or a copy beside the page.

    source: the rows that are copied; None has the page read the dataset from the web.

    Raises:
        InvalidArgumentError: the dataset is on no web server, and is not copied.
        AlreadyExistsError: the folder has other files.
        NotFoundError: the package was built without the page.
    """
    page, reader = _PAGE / "index.html", _PAGE / "reader" / "deeplake.wasm.gz"
    if not page.exists() or not reader.exists():
        raise NotFoundError(
            f"export page: no page with a reader in {str(_PAGE)!r}; run `make build`, or install a wheel, which has it"
        )
    copied = source is not None
    origin = "" if copied else _origin(uri)
    if folder.exists() and any(folder.iterdir()) and not (folder / _CONFIG).exists():
        raise AlreadyExistsError(f"export page: {str(folder)!r} has other files; name a new or an empty folder")
    if source is not None:
        _publish(source, folder, uri)
    for part in ("assets", "reader"):
        shutil.copytree(_PAGE / part, folder / part, dirs_exist_ok=True)
    (folder / "index.html").write_text(_marked(page.read_text("utf-8"), origin), "utf-8")
    # A copy has the one version.
    config = {
        "format": 1,
        "dataset": f"{_DATA}/" if copied else uri,
        "name": _name(uri),
        "at": "" if copied else at,
        "query": query,
    }
    (folder / _CONFIG).write_text(json.dumps(config, indent=1) + "\n", "utf-8")


def _publish(source: View, folder: Path, uri: str) -> None:
    """Writes rows, and nothing else of their dataset, beside the page.

    The objects of the dataset are not copied: they may hold deleted and replaced samples, and the
    paths of links. Linked files become samples. Readers learn the name of the dataset, not its
    place.
    """
    again = (folder / _CONFIG).exists()
    source.materialize(folder / _DATA, overwrite=again, message=f"copy of {_name(uri)}").close()


def _name(uri: str) -> str:
    """Returns the last part of an address, or the name of a folder of this machine."""
    if "://" not in uri:
        return Path(uri).resolve().name
    return re.split(r"[/\\]", uri.split("?")[0].rstrip("/\\"))[-1]


def _origin(uri: str) -> str:
    """Returns the origin of a web address. It goes into a policy, so nothing else may pass."""
    parts = urlsplit(uri)
    if parts.scheme not in ("http", "https") or not _HOST.fullmatch(parts.netloc):
        raise InvalidArgumentError(
            f"export page: {uri.split('?')[0]!r} is no address of a web server; give the https:// address of the"
            " dataset, which browsers may read (CORS), or copy the dataset beside the page with --copy"
        )
    return f"{parts.scheme}://{parts.netloc}"


def _marked(html: str, origin: str) -> str:
    """Returns the page with a content policy, and the name of the file that says what to read."""
    policy = (
        "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; img-src 'self' blob: data:; "
        f"media-src blob:; connect-src 'self'{' ' + origin if origin else ''}; worker-src 'self' blob:; "
        "base-uri 'none'; form-action 'none'"
    )
    tags = (
        f'<meta http-equiv="Content-Security-Policy" content="{escape(policy)}" />\n'
        '    <meta name="referrer" content="no-referrer" />\n'
        f'    <meta name="deeplake-dataset" content="{_CONFIG}" />\n    '
    )
    mark = '<meta name="viewport"'
    if html.count(mark) != 1:
        raise NotFoundError("export page: the built page is of another version; run `make build`")
    return html.replace(mark, tags + mark)
