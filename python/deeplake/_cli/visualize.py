"""The command `deeplake visualize`."""

from __future__ import annotations

import select
import signal
import socket
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TextIO

import click

from deeplake._cli.complete import PLACE
from deeplake._cli.output import at_option


@click.command()
@click.argument("uri", type=PLACE)
@at_option
@click.option("--query", "text", default="", help="Show the result of a query.")
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="0, the default, takes any free one.")
@click.option("--allow-host", "hosts", multiple=True, help="A name by which a proxy reaches the server.")
@click.option("--allow", multiple=True, help="A dataset, or a folder of some, that queries of the page may name too.")
@click.option("--browser/--no-browser", default=None, help="Open a browser; by default if there is a desktop.")
@click.option("--save-views", is_flag=True, help="Let the page save what it shows as views of the dataset.")
@click.option(
    "--export",
    "folder",
    type=click.Path(path_type=Path, file_okay=False),
    help="Write a page without a server into a folder. URI is then the https:// address of the dataset.",
)
@click.option("--copy", is_flag=True, help="With --export: copy the dataset into the folder.")
def visualize(
    uri: str,
    at: str,
    text: str,
    host: str,
    port: int,
    hosts: tuple[str, ...],
    allow: tuple[str, ...],
    browser: bool | None,
    save_views: bool,
    folder: Path | None,
    copy: bool,
) -> None:
    """Show a dataset in the browser, until Ctrl-C.

    The page is served by this process, from this machine alone: reach a remote one with `ssh -L`.
    """
    from deeplake._data.dataset import open as open_dataset

    if save_views and folder is not None:
        raise click.UsageError("a page without a server saves nothing: --save-views does not go with --export")
    if folder is not None:
        from deeplake._show.export import export

        if copy:
            with open_dataset(uri, at=at or None, read_only=True) as source:
                export(folder, uri, source=source[:], at=at, query=text)
        else:
            export(folder, uri, source=None, at=at, query=text)
        print("the page is written; any web server with range requests can serve the folder")
        return
    if copy:
        raise click.UsageError("--copy goes with --export")
    dataset = open_dataset(uri, at=at or None, read_only=not save_views)
    view = dataset.query(text) if text else dataset
    with view.visualize(
        host=host, port=port, allow_hosts=hosts, browser=browser, save_views=save_views, allow=allow
    ) as shown:
        if host not in ("127.0.0.1", "localhost", "::1"):
            print(f"anyone who reaches {shown.address} and has a link sees this dataset", file=sys.stderr)
        print(shown.link(), flush=True)
        if sys.stdin.isatty():
            print("a link works once; press Enter for another, Ctrl-C to end", file=sys.stderr)
            for _ in lines_until_signal(sys.stdin):
                print(shown.link(), flush=True)
        else:
            next(lines_until_signal(None), None)


def lines_until_signal(terminal: TextIO | None) -> Iterator[str]:
    """Yields the lines of a terminal as they come, or none. A Ctrl-C raises KeyboardInterrupt.

    The kernel may run the handler of a signal on a thread of the core, which does not wake a
    signal.pause() or a read of this one. So the handler writes to a socket, whichever thread
    runs it.
    """
    ours, handlers = socket.socketpair()
    with ours, handlers:
        handlers.setblocking(False)
        before = signal.set_wakeup_fd(handlers.fileno())
        try:
            while True:
                files: list[Any] = [ours] if terminal is None else [ours, terminal]
                ready, _, _ = select.select(files, [], [])
                if ours in ready:
                    ours.recv(1)
                elif terminal and (line := terminal.readline()):
                    yield line
                else:
                    return
        finally:
            signal.set_wakeup_fd(before)
