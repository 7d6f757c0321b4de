"""Completion in a shell: of commands and options, and of the places of datasets and sources."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.shell_completion import CompletionItem, get_completion_class

from deeplake._errors import Error
from deeplake._stores import uri as _uri

if TYPE_CHECKING:
    _Text = click.ParamType[str]
else:
    _Text = click.ParamType

_FROM = "from-"
_VARIABLE = "_DEEPLAKE_COMPLETE"
_MOST = 1000  # names that are offered


class Place(_Text):
    """The URI of a dataset: a folder, or a name of deeplake://."""

    name = "uri"

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        if not incomplete.startswith(_uri.SCHEME):
            return [CompletionItem(incomplete, type="dir")]  # the shell completes it itself
        return [CompletionItem(name) for name in _names(incomplete)]


class Source(_Text):
    """The source of an import, from-PATH."""

    name = "source"

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        if not incomplete.startswith(_FROM):
            return [CompletionItem(_FROM)] if _FROM.startswith(incomplete) else []
        typed = incomplete[len(_FROM) :]
        return [CompletionItem(_FROM + path) for path in _folders(typed)]


def _folders(typed: str) -> list[str]:
    """Returns the folders whose paths begin as typed."""
    before, slash, begin = typed.rpartition("/")
    try:
        entries = os.scandir(Path(before + slash or ".").expanduser())
    except OSError:
        return []
    with entries:
        names = sorted(entry.name for entry in entries if entry.name.startswith(begin) and entry.is_dir())
    if not begin.startswith("."):
        names = [name for name in names if not name.startswith(".")]
    return [f"{before}{slash}{name}" for name in names[:_MOST]]


def _names(typed: str) -> list[str]:
    """Returns names of deeplake:// that begin as typed: organisations, or the datasets of one that
    lies on this machine.
    """
    name, slash, begin = typed.removeprefix(_uri.SCHEME).partition("/")
    try:
        if not slash:
            return [f"{_uri.SCHEME}{org}/" for org in _uri.organisations() if org.startswith(name)]
        org = _uri.organisation(f"{_uri.SCHEME}{name}/")
    except Error:
        return []
    root = "" if org is None else org.root.removeprefix("file://")
    if root == "" or "://" in root:
        return []
    return [f"{_uri.SCHEME}{name}/{path.rpartition('/')[2]}" for path in _folders(f"{root.rstrip('/')}/{begin}")]


PLACE = Place()
SOURCE = Source()


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """Print the program that completes commands, options and paths in a shell.

    \b
        eval "$(deeplake completion bash)"               in ~/.bashrc
        eval "$(deeplake completion zsh)"                in ~/.zshrc, after compinit
        deeplake completion fish > ~/.config/fish/completions/deeplake.fish
    """
    kind = get_completion_class(shell)
    assert kind is not None
    click.echo(kind(ctx.find_root().command, {}, "deeplake", _VARIABLE).source())
