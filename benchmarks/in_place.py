"""Epochs over files of other formats where they lie: what test_linked and test_deeplake3 share."""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import data
import environments
from adapters.base import CORES
from protocol import Contender, Entry, Line, Spread, Turn
from remote import Store
from roster import Entrant
from suite import contender
from suite_epoch import per_epoch

BATCH = 256
TURN = 5.0  # seconds that a turn takes at least, in whole epochs


def entry(one: Contender, full: bool) -> Entry:
    """Returns a contender with its best number of workers."""
    found = one.call("choose", most=(20 if full else 4) * BATCH, choices=[] if full else [CORES])["value"]
    return Entry(one, {"workers": found["workers"], "least": TURN if full else 0.0})


def local_lines(
    peers: Mapping[str, Contender],
    entries: Mapping[str, Entry],
    turns: Mapping[str, Turn],
    files: data.JpegSet,
    theirs: str,
) -> list[Line]:
    """Returns a line for each contender of a race. All but `theirs` must deliver every image once."""
    lines = []
    for name, one in peers.items():
        turn, workers = turns[name], entries[name].arguments["workers"]
        per_epoch(turn, files.count)
        found = one.call("check", workers=workers)["value"]
        assert found["once"] or name == theirs, f"{name}: not every image exactly once"
        assert not found["labels_wrong"], f"{name}: {found['labels_wrong']} wrong labels"
        lines.append(
            Line(
                name,
                Spread.of([files.count / seconds for seconds in turn.seconds]),
                cpu=statistics.median(turn.cpu) / files.count * 1000,
                memory=one.peak("run", workers=workers),
                note=f"{workers} workers" + ("" if found["once"] else ", **not every image once**"),
            )
        )
    return lines


def upload(store: Store, folder: Path, bucket: str, prefix: str) -> str:
    """Copies a folder to a store, and returns its address there."""
    with Contender(
        "upload",
        "adapters.bucket",
        "Upload",
        python=environments.python("webdataset"),
        environment=store.environment(direct=True),
    ) as up:
        up.call("upload", folder=str(folder), bucket=bucket, prefix=prefix)
    return f"s3://{bucket}/{prefix}"


def fresh_epochs(
    who: Mapping[str, tuple[Entrant, str, int]], store: Store, arguments: dict[str, Any], count: int
) -> tuple[dict[str, Turn], list[Line]]:
    """Runs three epochs each, every one in a new process, in turn.

    Args:
        who: by name an entrant, the address that it opens, and its workers.

    Returns:
        The turns by name, and a line for each name.
    """
    turns = {name: Turn() for name in who}
    gets = dict.fromkeys(who, 0)
    for number in range(3):
        for name in [*who][:: 1 if number % 2 == 0 else -1]:
            one, uri, workers = who[name]
            with contender(one, "Peer", store.environment(), uri=uri, **arguments) as running:
                store.reset()
                answer = running.call("anew", workers=workers)
            gets[name] = sum(request["method"] == "GET" for request in store.requests() or ())
            turns[name].add(answer, 0)
            assert answer["value"]["count"] == count, f"{name}: {answer['value']['count']} images"
    lines = [
        Line(
            name,
            Spread.of([count / seconds for seconds in turn.seconds]),
            cpu=statistics.median(turn.cpu) / count * 1000,
            note=f"{gets[name]} GETs, first batch {statistics.median(v['first'] for v in turn.values):.2f} s",
        )
        for name, turn in turns.items()
    ]
    return turns, lines
