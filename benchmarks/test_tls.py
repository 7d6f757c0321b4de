"""An epoch from an object store over TLS, against the same epoch over plain HTTP.

python benchmarks/test_tls.py [--full]
"""

from __future__ import annotations

from contextlib import ExitStack

import data
import machine
import report
from protocol import Entry, Figure, Line, Result, Spread, Table, contenders, race, thriftier
from remote import RemoteContender, Servers
from test_epoch import BATCH, TITLES

PLAIN, TLS = "deeplake, http", "deeplake, https"
SERVERS = {PLAIN: "s3", TLS: "s3-tls"}


def measure(full: bool = False) -> Result:
    """Measures epochs of new loaders, without the delays of a network: the cost of encryption has nowhere to hide."""
    result = Result(
        "tls",
        "Epochs from an object store over TLS",
        rounds=9 if full else 5,
        full=full,
        packages=("torch",),
    )
    for name in ("photos-q75", "noise-q75"):
        _one_set(result, data.jpegs(name, 20_000 if full else 3_000))
    result.notes.append(
        "Two versitygw servers on the same processors, without a proxy: no delay, and no limit on a connection. Both "
        "decrypt or encrypt with Go's TLS 1.3. Every epoch opens the dataset anew and has no cache."
    )
    return result


def _one_set(result: Result, files: data.JpegSet) -> None:
    import deeplake

    title, local = TITLES[files.name], str(data.make_lake(files))
    with ExitStack() as stack:
        servers = stack.enter_context(Servers(*SERVERS.values()))
        made = {}
        for name, kind in SERVERS.items():
            store = servers[kind]
            uri = f"s3://{store.bucket()}/dataset"
            storage = store.settings(direct=True)
            deeplake.copy(local, uri, dst_storage=deeplake.Storage(**storage))
            made[name] = RemoteContender(
                servers,
                name,
                "loaders",
                "Ours",
                uri=uri,
                storage=storage,
                batch_size=BATCH,
                workers=machine.cores(),
            )
        contenders(stack, made)
        turns = race({name: Entry(one) for name, one in made.items()}, call="anew", rounds=result.rounds)
        for turn in turns.values():
            assert all(value["count"] == files.count for value in turn.values)
        found = made[TLS].call("check", name=files.name, count=files.count)["value"]
        assert found["once"] and not found["labels_wrong"] and not found["differ"], f"{title}: {found}"
        result.checks.append(f"{title}, https: each image once, labels and every pixel right")
        result.watch(turns)
    lines = [
        Line(
            name,
            Spread.of([files.count / seconds for seconds in turn.seconds]),
            cpu=Spread.of(turn.cpu).median / files.count * 1000,
        )
        for name, turn in turns.items()
    ]
    about = f"{title} ({files.count:,} images of {files.mean_bytes / 1000:.0f} kB)"
    result.tables.append(Table(about, "images/s", "1,000", lines))
    result.figures.append(
        Figure(f"{title}: CPU time of the loader over https, times http", thriftier(turns[PLAIN], turns[TLS]), None)
    )
    size = int(files.extents[:, 1].sum())
    extra = [1e9 * (secret - open_) / size for open_, secret in zip(turns[PLAIN].cpu, turns[TLS].cpu, strict=True)]
    result.figures.append(Figure(f"{title}: CPU time that TLS adds", Spread.of(extra), None, "less", "s per GB"))


def test_tls(bench: report.Bench) -> None:
    bench(measure)


if __name__ == "__main__":
    report.main(measure)
