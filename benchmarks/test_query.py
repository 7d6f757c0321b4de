"""Queries: numbers against DuckDB and pylance, images on an object store, shapes, vectors, and the paper's example.

python benchmarks/test_query.py [--full]
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import data
import environments
import gobench
import machine
import numpy as np
import query_data
import report
from protocol import Contender, Entry, Figure, Line, Result, Spread, Table, Turn, contenders, faster, race
from remote import RemoteContender, Servers

OURS, DUCK, LANCE, NUMPY, LIMIT = (
    "deeplake",
    "DuckDB, Parquet (Snappy)",
    "pylance, Arrow",
    "NumPy",
    "reading memory, huge pages",
)
DUCK_PLAIN = "DuckDB, uncompressed Parquet"
SMALL = "reading memory, pages of 4 KiB"
FILES = "reading files in the page cache"
THREE = "Deep Lake 3, filter in Python"
WHERE = "d < 500000 AND e = 3"
WIDE = "d < 500000"
AGGREGATES = "COUNT(*) AS n, SUM(a) AS total, AVG(b) AS middle, MIN(c) AS low, MAX(c) AS high"
ONE = f"SELECT {AGGREGATES} WHERE {WHERE}"
GROUPS = f"SELECT e, {AGGREGATES} WHERE {WIDE} GROUP BY e ORDER BY e"
ROWS = f"SELECT a, b, c WHERE {WHERE}"
TOP = {
    "dot": "SELECT embedding ORDER BY DOT(embedding, ?) DESC LIMIT 100",
    "cosine": "SELECT embedding ORDER BY COSINE_SIMILARITY(embedding, ?) DESC LIMIT 100",
    "l2": "SELECT embedding ORDER BY L2_NORM(embedding - ?) LIMIT 100",
}
TALL = "SELECT images WHERE SHAPE(images)[0] > 72"
RARE = "SELECT images WHERE labels = 'class0'"
PAPER = """SELECT images[100:500, 100:500, 0:2] AS crop, NORMALIZE(boxes, [100, 100, 400, 400]) AS box
FROM dataset
WHERE IOU(boxes, "training/boxes") > 0.95
ORDER BY IOU(boxes, "training/boxes")
ARRANGE BY labels"""


def measure(full: bool = False) -> Result:
    """Measures a million vectors and images and ten million numbers; short: a tenth and less."""
    result = Result("query", "Queries", 5 if full else 3, full, packages=("duckdb", "pyarrow"))
    _numbers(result, 10_000_000 if full else 1_000_000)
    _far(result, 1_000_000 if full else 50_000)
    _shapes(result, 1_000_000 if full else 100_000)
    _vectors(result, 1_000_000 if full else 100_000)
    _paper(result, 100_000 if full else 10_000)
    _plan(result)
    return result


def _numbers(result: Result, rows: int) -> None:
    threads = machine.cores()
    folder = query_data.numbers_lake(rows)
    snappy, plain = query_data.parquet(rows, "snappy"), query_data.parquet(rows, "uncompressed")
    with ExitStack() as stack:
        made = {
            OURS: Contender(OURS, "queries", "Ours", uri=str(folder), threads=threads),
            DUCK: Contender(DUCK, "queries", "Duck", file=str(snappy), threads=threads),
            DUCK_PLAIN: Contender(DUCK_PLAIN, "queries", "Duck", file=str(plain), threads=threads),
        }
        if _there("lance", result):
            made[LANCE] = _lance(rows, threads)
        files = _joined(folder)
        wide = rows * (8 + 8 + 4 + 4 + 1)
        limit = Contender(FILES, "queries", "read_loop", threads=threads, megabytes=wide // 1_000_000, file=str(files))
        contenders(stack, made | {FILES: limit})
        result.notes.append(
            f"{rows:,} rows of int64, float64, float32, int32 and uint8: random numbers, so bounds exclude none. "
            f'"{FILES}" reads the {wide / 1e6:,.0f} MB of all five columns once. Ours and Lance store them as they '
            f"are. DuckDB's Parquet has its defaults, Snappy and dictionaries: {_megabytes(snappy)}. The same without "
            f"compression ({_megabytes(plain)}) takes part, too."
        )
        lance = {"where": WHERE}
        for title, text, other, call, share in (
            ("filter and aggregate", ONE, lance, "table", "1 row in 20"),
            ("filter and aggregate by group", GROUPS, {"where": WIDE, "by": "e"}, "table", "1 row in 2, 10 groups"),
            ("filter, three columns as arrays", ROWS, lance, "arrays", "1 row in 20"),
        ):
            entries = {name: Entry(made[name], {"text": text}) for name in (OURS, DUCK, DUCK_PLAIN)}
            if LANCE in made:
                entries[LANCE] = Entry(made[LANCE], other)
            turns = race(entries, call=call, rounds=result.rounds)
            bare = race({FILES: Entry(limit)}, rounds=result.rounds)
            result.watch(turns)
            _alike(title, {name: turn.values[0] for name, turn in turns.items()}, call)
            turns |= bare
            lines = [Line(name, _ms(turn), cpu=_cpu(turn)) for name, turn in turns.items()]
            result.tables.append(Table(f"{title} ({rows:,} rows, {share})", "ms", "query", lines, better="less"))
            ours = turns[OURS]
            wants = (2.0, 2.0, 1.5) if call == "table" else (None, None, None)
            for name, want in zip((DUCK, DUCK_PLAIN, LANCE), wants, strict=True):
                if name not in made:
                    continue
                result.figures.append(Figure(f"{title}: times {name}", faster(turns[name], ours), want, "less"))
            result.figures.append(Figure(f"{title}: times {FILES}", faster(turns[FILES], ours), None, "less"))
    files.unlink()
    result.checks.append(f"{'; '.join(made)}: the same counts, sums, means and bounds")


def _megabytes(path: Path) -> str:
    return f"{path.stat().st_size / 1e6:,.0f} MB"


def _there(peer: str, result: Result) -> bool:
    """Reports whether a peer takes part: the short comparison makes no environment for it."""
    if result.full or (environments.FOLDER / peer / "installed").exists():
        return True
    result.notes.append(f"Without {peer}: python benchmarks/environments.py {peer} makes its environment.")
    return False


def _lance(rows: int, threads: int) -> Contender:
    folder = data.CACHE / f"numbers-{rows}.lance"
    one = Contender(
        LANCE,
        "queries",
        "Lance",
        python=environments.python("lance"),
        environment=environments.QUIET | {"LANCE_CPU_THREADS": str(threads)},
        folder=str(folder),
        threads=threads,
    )
    if not folder.exists():
        one.call("write", rows=rows)
    assert one.call("load")["value"]["count"] == rows
    return one


def _joined(folder: Path) -> Path:
    """Returns one file with the bytes of all files of a dataset."""
    joined = folder.with_suffix(".joined")
    with joined.open("wb") as out:
        for path in sorted(folder.rglob("data/*/*")):
            with path.open("rb") as file:
                shutil.copyfileobj(file, out)
    return joined


def _alike(title: str, found: Mapping[str, dict[str, Any]], call: str) -> None:
    ours = found[OURS]
    for name, other in found.items():
        if call == "arrays":
            assert other == ours, f"{title}, {name}: {other}, ours {ours}"
            continue
        assert len(other["rows"]) == len(ours["rows"]), f"{title}, {name}: {other}, ours {ours}"
        for row, own in zip(other["rows"], ours["rows"], strict=True):
            same = all(np.isclose(a, b, rtol=1e-9, atol=1e-12) for a, b in zip(row, own, strict=True))
            assert same, f"{title}, {name}: {row}, ours {own}"


def _far(result: Result, rows: int) -> None:
    with ExitStack() as stack:
        servers = stack.enter_context(Servers("s3"))
        store = servers["s3"]
        uri = f"s3://{store.bucket()}/far"
        data.say(f"writing {rows:,} images to the object store")
        query_data.far_lake(uri, rows, store.settings(direct=True))
        one = RemoteContender(
            servers, OURS, "queries", "Ours", uri=uri, storage=store.settings(), threads=machine.cores()
        )
        contenders(stack, {OURS: one})
        turns = race({OURS: Entry(one, {"text": RARE})}, call="far", rounds=result.rounds)
        store.reset()
        found = one.call("far", text=RARE)["value"]
        seen = store.requests()
    result.watch(turns)
    classes = query_data.rare(rows)
    assert found["rows"] == np.flatnonzero(classes == 0).tolist(), "other rows than those of class 0"
    read = sum(request["bytes"] for request in seen)
    files = query_data.files("tiny-q90")
    needed = sum(len(files[row % len(files)]) for row in found["rows"])
    assert found["bytes"] == needed, f"{found['bytes']} bytes of images, want {needed}"
    column = found["label"] * rows
    values = turns[OURS].values
    keys = ("opened", "asked", "first", "seconds")
    names = ("opened", "the rows are known", "first image", "all images")
    lines = []
    for key, name in zip(keys, names, strict=True):
        times = turns[OURS].seconds if key == "seconds" else [value[key] for value in values]
        lines.append(Line(name, Spread.of([1000 * seconds for seconds in times])))
    result.tables.append(
        Table(
            f"1 row in 1,000 of {rows:,} small JPEG images on S3 with 25 ms: since opening",
            "ms",
            lines=lines,
            better="less",
        )
    )
    first = Spread.of([value["first"] - value["opened"] for value in values])
    result.figures.append(
        Figure("selective filter on S3: first image after the query was asked", first, 0.5, "less", "s")
    )
    result.figures.append(
        Figure(
            "selective filter on S3: bytes read as a part of those of the images and of the labels",
            Spread.of([read / (needed + column)]),
            1.3,
            "less",
        )
    )
    result.notes.append(
        f"S3: {len(seen)} requests for {read / 1e6:.1f} MB, everything from opening on: {needed / 1e6:.1f} MB of "
        f"{found['count']:,} JPEG files, {column / 1e6:.1f} MB of labels, the rest index pages and "
        "neighbours in one request. The images have 4.1 to 8.5 kB; smaller ones share blocks of 16 KiB, which are read "
        "and checked as one."
    )
    result.checks.append(f"S3: the {found['count']:,} rows of class 0, in order, every image with all its bytes")


def _shapes(result: Result, rows: int) -> None:
    folder = query_data.shapes_lake(rows)
    with Contender(OURS, "queries", "Ours", uri=str(folder), threads=machine.cores()) as one:
        first = Turn()
        for _ in range(result.rounds):
            one.call("anew")
            first.add(one.call("count", text=TALL), one.baseline)
        again = race({OURS: Entry(one, {"text": TALL})}, call="count", rounds=result.rounds)[OURS]
    result.watch({OURS: again})
    count = int((query_data.heights(rows) > 72).sum())
    for turn in (first, again):
        assert all(value["count"] == count for value in turn.values), f"{turn.values}, want {count}"
    size = sum(path.stat().st_size for path in folder.rglob("data/*/*"))
    lines = [Line("just opened", _ms(first), cpu=_cpu(first)), Line("again", _ms(again), cpu=_cpu(again))]
    result.tables.append(
        Table(f"WHERE SHAPE(images)[0] > 72 of {rows:,} JPEG images", "ms", "query", lines, better="less")
    )
    result.figures.append(Figure("SHAPE predicate, dataset just opened", Spread.of(first.seconds), 1.0, "less", "s"))
    read = Spread.of([value["read"] / size for value in first.values])
    result.figures.append(Figure("SHAPE predicate: bytes read as a part of those of the images", read, None, "less"))
    result.notes.append(
        f"SHAPE: {first.values[0]['read'] / 1e6:.1f} MB read when just opened and {again.values[-1]['read'] / 1e6:.1f} "
        f"MB again, as the system counts them; the images and what describes them are {size / 1e6:.0f} MB."
    )
    result.checks.append(f"SHAPE: {count:,} rows, as NumPy counts them")


def _vectors(result: Result, rows: int) -> None:
    threads = machine.cores()
    folder = query_data.vectors_lake(rows)
    amount = rows * query_data.AXES * 4
    with ExitStack() as stack:
        made = contenders(
            stack,
            {
                OURS: Contender(OURS, "queries", "Ours", uri=str(folder), threads=threads),
                NUMPY: Contender(NUMPY, "queries", "Arrays", rows=rows),
                LIMIT: Contender(LIMIT, "queries", "read_loop", threads=threads, megabytes=amount // 1_000_000),
                SMALL: Contender(
                    SMALL, "queries", "read_loop", threads=threads, megabytes=amount // 1_000_000, small=True
                ),
            },
        )
        for kind, text in TOP.items():
            entries = {
                OURS: Entry(made[OURS], {"text": text}),
                NUMPY: Entry(made[NUMPY], {"kind": kind, "k": 100}),
            }
            turns: dict[str, Turn] = {name: Turn() for name in made}
            for _ in range(2 * result.rounds):
                # the rate of memory changes by the second, and a turn takes little
                for name, turn in race(entries, call="top", rounds=1, warm_up=not turns[OURS].seconds).items():
                    _append(turns[name], turn)
                for name in (LIMIT, SMALL):
                    _append(
                        turns[name], race({name: Entry(made[name])}, rounds=1, warm_up=not turns[name].seconds)[name]
                    )
            result.watch(turns)
            ours, other = set(turns[OURS].values[0]["rows"]), set(turns[NUMPY].values[0]["rows"])
            assert len(ours) == 100 and len(ours & other) >= 99, f"{kind}: {len(ours & other)} of 100 rows as NumPy's"
            lines = [
                Line(name, Spread.of([amount / 1e9 / seconds for seconds in turn.seconds]), cpu=_cpu(turn))
                for name, turn in turns.items()
            ]
            result.tables.append(Table(f"top 100 of {rows:,} float32 vectors of 768, {kind}", "GB/s", "query", lines))
            # Huge pages are not always the faster ones on a virtual machine.
            fastest = min((LIMIT, SMALL), key=lambda name: Spread.of(turns[name].seconds).median)
            part = faster(turns[OURS], turns[fastest])
            result.figures.append(Figure(f"top 100, {kind}: part of {fastest}, {threads} threads", part, 0.8))
            result.figures.append(Figure(f"top 100, {kind}: times NumPy", faster(turns[OURS], turns[NUMPY]), None))
            result.checks.append(f"top 100, {kind}: {len(ours & other)} rows are NumPy's; the last may be as near")
    result.notes.append(
        "Vectors: ours are read in the page cache, whose pages have 4 KiB. NumPy's array lies in huge pages. The limit "
        "is the faster of the readers of both kinds. They take twice as many turns as the others."
    )


def _append(turn: Turn, more: Turn) -> None:
    for name in ("seconds", "cpu", "others", "stolen", "values"):
        getattr(turn, name).extend(getattr(more, name))
    turn.peak = max(turn.peak, more.peak)


def _paper(result: Result, rows: int) -> None:
    if not _there("deeplake3", result):
        return
    few = min(rows, 10_000 if result.full else 2_000)
    folder = query_data.paper_lake(rows)
    with ExitStack() as stack:
        made = {
            OURS: Contender(OURS, "queries", "Ours", uri=str(folder), threads=machine.cores()),
            THREE: _three(few),
        }
        if few < rows:
            made["few"] = Contender(
                OURS, "queries", "Ours", uri=str(query_data.paper_lake(few)), threads=machine.cores()
            )
        contenders(stack, made)
        turns = race({OURS: Entry(made[OURS], {"text": PAPER})}, call="paper", rounds=result.rounds)
        other = race(
            {THREE: Entry(made[THREE], {"workers": 0})}, call="paper", rounds=3 if result.full else 1, warm_up=False
        )
        check = made.get("few", made[OURS]).call("paper", text=PAPER)["value"]
    result.watch(turns)
    three = other[THREE].values[0]
    # Rows of equal keys may come in another order: the last bit of an overlap is rounded
    # differently.
    assert sorted(check["rows"]) == sorted(three["rows"]), (
        f"{len(check['rows'])} rows, Deep Lake 3 {len(three['rows'])}"
    )
    assert abs(check["pixels"] / three["pixels"] - 1) < 1e-3, f"pixels {check['pixels']}, want {three['pixels']}"
    assert np.allclose(sorted(check["box"]), sorted(three["box"]), rtol=1e-5, atol=1e-5)
    same = sum(a == b for a, b in zip(check["rows"], three["rows"], strict=True))
    result.checks.append(
        f"the paper's example: of {few:,} rows the same {len(three['rows']):,} as Deep Lake 3, {same:,} at the same "
        "place, the same boxes and pixels"
    )
    ours = turns[OURS]
    scaled = Turn(**vars(other[THREE]))
    scaled.seconds = [seconds * rows / few for seconds in scaled.seconds]
    lines = [
        Line(OURS, Spread.of(ours.seconds), note=f"{ours.values[0]['asked']:.3g} s until the rows are known"),
        Line(
            THREE, Spread.of(scaled.seconds), note=f"of {few:,} rows" + (f", times {rows // few}" if few < rows else "")
        ),
    ]
    result.tables.append(Table(f"the paper's example of {rows:,} rows", "s", lines=lines, better="less"))
    ratio = Spread.of([seconds / Spread.of(ours.seconds).median for seconds in scaled.seconds])
    result.figures.append(Figure(f"the paper's example: times {THREE}", ratio, 20))
    result.notes.append(
        f"The paper's example: photographs of 250x250, 7 boxes each; {len(ours.values[0]['rows']):,} rows are left, "
        "whose crops are decoded and boxes normalised. Deep Lake 3 filters by a function of Python that computes the "
        "overlaps with NumPy, in one process; the rows that are left are sorted, spread and read in Python too."
    )


def _three(rows: int) -> Contender:
    folder = data.CACHE / f"paper-{rows}.deeplake3"
    one = Contender(
        THREE,
        "queries",
        "Three",
        python=environments.python("deeplake3"),
        environment=environments.QUIET,
        folder=str(folder),
        rows=rows,
    )
    stamp = folder.with_suffix(".done")
    if not stamp.exists():
        one.call("write")
        stamp.touch()
    return one


def _plan(result: Result) -> None:
    found = gobench.run("./core/query", "BenchmarkPrepare", count=result.rounds)
    lines = [
        Line(
            name,
            Spread.of([one["ns/op"] / 1e3 for one in runs]),
            note=f"{runs[0].get('allocs/op', 0):,.0f} allocations",
        )
        for name, runs in found.items()
    ]
    result.tables.append(Table("read, check and plan a query", "us", lines=lines, better="less"))
    for name, runs in found.items():
        spread = Spread.of([one["ns/op"] / 1e6 for one in runs])
        result.figures.append(Figure(f"read, check and plan a query, {name}", spread, 1.0, "less", "ms"))


def _ms(turn: Turn) -> Spread:
    return Spread.of([1000 * seconds for seconds in turn.seconds])


def _cpu(turn: Turn) -> float:
    return Spread.of(turn.cpu).median


def test_query(bench: report.Bench) -> None:
    bench(measure)


if __name__ == "__main__":
    report.main(measure)
