"""Tables with a column of URLs: their objects into a dataset, beside img2dataset and a bare loop of GET.

python benchmarks/test_url_columns.py [--full]
"""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import tarfile
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import data
import environments
import gobench
import machine
import pyarrow as pa
import pyarrow.parquet as pq
import report
from protocol import Figure, Line, Result, Spread, Table, Turn, faster, thriftier

OURS, PEER = "deeplake create", "img2dataset"
FILES, HOSTS = 600, 200
# The paths of 10,000 URLs: the server tells them apart by their first part.
KINDS = {"ok": 9700, "gone": 100, "busy": 50, "reset": 50, "mute": 100}
REASONS = {"gone": "404", "busy": "503", "reset": "broke", "mute": "no answer within"}
LOOPS = (128, 256, 512, 1024, 2048)  # requests at once of the bare loop
THREADS, TRIED = 64, (64, 128, 256)  # of each process of img2dataset
LOOKED_AT = 500  # images that are compared with their files


def measure(full: bool = False) -> Result:
    """Imports a table of 100,000 URLs (short: 10,000); three of a hundred give no object."""
    # Of both: the seconds until a silent URL is given up. Ten are the default of both.
    count, silence = (100_000, 10) if full else (10_000, 2)
    result = Result("url_columns", f"A table of {count:,} URLs", 2 if full else 3, full, ("pyarrow",))
    result.notes.append(
        f"A server of this machine answers after 25 ms, as {HOSTS} hosts. Of 100 URLs one is 404, one is 503 or a "
        "connection that breaks, and one never answers. "
        f"Both give up a silent URL after {silence} s. The last silent URLs are at the end of the table: the whole run "
        f"has a tail of {silence} s, in which nothing else is left to fetch. Rates are images, not URLs."
    )
    files = data.jpegs("photos-q92", FILES)
    with tempfile.TemporaryDirectory(dir=data.CACHE) as folder, _server(files) as server:
        job = Job(Path(folder), files, server, count, silence)
        workers = _best_loop(job, result)
        threads, held = _best_threads(job, result) if full else (THREADS, None)
        _compare(job, result, workers, threads, held)
    return result


class Server:
    """The process that answers the URLs."""

    def __init__(self, pid: int, port: int) -> None:
        self.pid, self.port = pid, port


@contextmanager
def _server(files: data.JpegSet) -> Iterator[Server]:
    command = [str(_program()), "-serve", str(files.folder)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdin is not None and process.stdout is not None
    try:
        yield Server(process.pid, int(process.stdout.readline()))
    finally:
        process.stdin.close()
        process.wait()


def _program() -> Path:
    """Returns the server, which is the bare loop, too."""
    binary = data.CACHE / "bin" / "urlserver"
    subprocess.run([gobench.go(), "build", "-o", str(binary), "./benchmarks/urlserver"], cwd=gobench.ROOT, check=True)
    return binary


class Job:
    """A table of URLs, and the ways to get its objects. Each run is a process from its start to its end."""

    def __init__(self, folder: Path, files: data.JpegSet, server: Server, count: int, silence: int) -> None:
        """Writes the table."""
        self.count, self.silence = count, silence
        self._files, self._server = files, server
        self._table, self._good, self._out = folder / "table.parquet", folder / "good.txt", folder / "out"
        draw = random.Random(0)
        kinds = [kind for kind, n in KINDS.items() for _ in range(n * count // 10_000)]
        draw.shuffle(kinds)
        self.kinds = kinds
        self.images = kinds.count("ok")
        urls = [
            f"http://127.0.0.{draw.randrange(HOSTS) + 1}:{server.port}/{kind}/{row}" for row, kind in enumerate(kinds)
        ]
        captions = [f"a photograph with the number {row}" for row in range(count)]
        pq.write_table(pa.table({"url": urls, "caption": captions, "id": range(count)}), self._table)
        self._good.write_text("".join(f"{url}\n" for url, kind in zip(urls, kinds, strict=True) if kind == "ok"))

    def ours(self, look: bool = False) -> dict[str, Any]:
        """Makes a dataset."""
        options = ["--url-column", "url", "--json"]
        for setting in ("allow_private=true", f"timeout={self.silence}"):
            options += ["--source-storage", setting]
        return self._run([*data.deeplake_command(), "create", str(self._out), f"from-{self._table}", *options], look)

    def peer(self, threads: int, look: bool = False) -> dict[str, Any]:
        """Makes shards of WebDataset without a look at the images, the fastest way that img2dataset documents."""
        options: Mapping[str, Any] = {
            "url_list": self._table,
            "input_format": "parquet",
            "url_col": "url",
            "caption_col": "caption",
            "save_additional_columns": '["id"]',
            "output_format": "webdataset",
            "output_folder": self._out,
            "processes_count": machine.cores(),
            "thread_count": threads,
            # A process waits for the silent URLs of a shard before it begins the next one.
            "number_sample_per_shard": -(-self.count // machine.cores()),
            "resize_mode": "no",
            "disable_all_reencoding": True,
            "compute_hash": None,
            "extract_exif": False,
            "timeout": self.silence,
            "retries": 0,
        }
        command = [environments.python("img2dataset"), "-m", "img2dataset.main"]
        for name, value in options.items():
            command += [f"--{name}", str(value)]
        return self._run(command, look)

    def loop(self, workers: int) -> dict[str, Any]:
        """Reads the bodies of the URLs that give an image, and keeps none."""
        answer = self._run([str(_program()), "-fetch", str(self._good), "-workers", str(workers)])
        found = json.loads(answer["value"])
        assert found["count"] == self.images and not found["failed"], found
        return answer

    def _run(self, command: Sequence[str], look: bool = False) -> dict[str, Any]:
        """Returns what protocol.Contender.call does, with `server`, the CPU time of the server, and `most`, the bytes
        that the process tree held; looking takes time."""
        shutil.rmtree(self._out, ignore_errors=True)
        with machine.alone(), tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
            watch, served = machine.Watch(), machine.cpu_seconds(self._server.pid)
            begin = time.perf_counter()
            process = subprocess.Popen(command, stdout=out, stderr=err, env=os.environ | environments.QUIET)
            with _looking(process.pid if look else None) as most:
                _, status, used = os.wait4(process.pid, 0)
            seconds = time.perf_counter() - begin
            process.returncode = os.waitstatus_to_exitcode(status)
            cpu, served = used.ru_utime + used.ru_stime, machine.cpu_seconds(self._server.pid) - served
            shares = watch.stop(cpu + served)
            out.seek(0)
            err.seek(0)
            if process.returncode:
                raise SystemExit(f"{command} ended with status {process.returncode}:\n{err.read()[-2000:]}")
            answer = {"seconds": seconds, "cpu": cpu, "peak": 0, "value": out.read(), "server": served, "most": most[0]}
            data.say(f"  {Path(command[0]).name} {command[2]}: {seconds:.2f} s, {cpu:.2f} CPU-s")
            return answer | shares

    def check_ours(self) -> str:
        """Holds the dataset of the last run against the table."""
        import deeplake

        with deeplake.open(self._out, read_only=True) as ds:
            assert len(ds) == self.count, f"{len(ds)} rows, want {self.count}"
            rows = ds.to_arrow(tensors=["id", "caption", "image_error"])
            assert rows["id"].to_pylist() == list(range(self.count))
            for row, (kind, reason) in enumerate(zip(self.kinds, rows["image_error"].to_pylist(), strict=True)):
                assert (reason is None) if kind == "ok" else REASONS[kind] in reason, f"row {row}, {kind}: {reason}"
            good = [row for row, kind in enumerate(self.kinds) if kind == "ok"]
            for row in good[:: max(1, len(good) // LOOKED_AT)]:
                assert ds["image"].bytes(row) == self._file(row), f"row {row} is not the file"
            bad = [row for row, kind in enumerate(self.kinds) if kind != "ok"]
            assert all(ds["image"][row] is None for row in bad[:LOOKED_AT])
        return f"{OURS}: {self.count:,} rows; each URL that gave no image has its reason; images byte for byte"

    def check_peer(self) -> str:
        """Holds the shards of the last run against the table."""
        seen = images = 0
        for shard in sorted(self._out.glob("*.tar")):
            rows = pq.read_table(shard.with_suffix(".parquet"), columns=["id", "key", "status"]).to_pylist()
            wanted = {row["key"]: row["id"] for row in rows if row["status"] == "success"}
            seen, images = seen + len(rows), images + len(wanted)
            with tarfile.open(shard) as members:
                for member in members:
                    key, _, kind = member.name.partition(".")
                    if kind == "jpg" and int(key) % (self.count // LOOKED_AT) == 0:
                        found = members.extractfile(member)
                        assert found is not None and found.read() == self._file(wanted[key]), f"{key} is not the file"
        assert seen == self.count, f"{seen} rows, want {self.count}"
        lost = self.images - images
        return f"{PEER}: {self.count:,} rows, {lost} of the good URLs without an image; images byte for byte"

    def _file(self, row: int) -> bytes:
        return self._files.paths[row % FILES].read_bytes()


@contextmanager
def _looking(pid: int | None) -> Iterator[list[int]]:
    """Gives the most bytes that a process tree held meanwhile; of None none."""
    most, over = [0], threading.Event()

    def look() -> None:
        while pid is not None and not over.wait(0.1):
            most[0] = max(most[0], machine.tree_memory(pid))

    looker = threading.Thread(target=look)
    looker.start()
    try:
        yield most
    finally:
        over.set()
        looker.join()


def _best_threads(job: Job, result: Result) -> tuple[int, int]:
    """Tries the numbers of threads that img2dataset may use. Returns the fastest, and the bytes that it holds.

    A silent URL holds a thread until it is given up: the best number depends on that time.
    """
    tried = {threads: job.peer(threads, look=True) for threads in TRIED}
    rates = {threads: job.images / answer["seconds"] for threads, answer in tried.items()}
    result.tables.append(Table(f"{PEER}, threads of each process", "images/s"))
    result.tables[-1].lines = [Line(f"{threads} threads", Spread.of([rate])) for threads, rate in rates.items()]
    best = max(rates, key=lambda threads: rates[threads])
    return best, tried[best]["most"]


def _best_loop(job: Job, result: Result) -> int:
    """Tries the bare loop with several numbers of requests at once, and returns the fastest."""
    tried = LOOPS if result.full else LOOPS[1:4]
    rates = {workers: job.images / job.loop(workers)["seconds"] for workers in tried}
    result.tables.append(Table("bare loop of GET, requests at once", "images/s"))
    result.tables[-1].lines = [Line(f"{workers:,} requests", Spread.of([rate])) for workers, rate in rates.items()]
    return max(rates, key=lambda workers: rates[workers])


def _compare(job: Job, result: Result, workers: int, threads: int, peer_holds: int | None) -> None:
    limit = f"bare loop of GET, {workers:,} requests at once"
    same = "bare loop of GET, 256 requests at once"
    turns = {name: Turn() for name in (OURS, PEER, limit, same)}
    served: dict[str, list[float]] = {name: [] for name in turns}
    held = {OURS: job.ours(look=True)["most"], PEER: peer_holds} if result.full else {}
    for _ in range(result.rounds):
        for name, turn in turns.items():
            if name == OURS:
                answer = job.ours()
                result.checks[:1] = [job.check_ours()]
            elif name == PEER:
                answer = job.peer(threads)
                result.checks[1:] = [job.check_peer()]
            else:
                answer = job.loop(256 if name == same else workers)
            turn.add(answer, 0)
            served[name].append(answer["server"])
    result.watch(turns)
    per = job.images / 1000
    table = Table("from the start of the command to its end", "images/s", "1,000")
    for name, turn in turns.items():
        note = f"{Spread.of(served[name]).median / per:.2g} CPU-s / 1,000 of the server beside it"
        if name == PEER:
            note += f"; {machine.cores()} processes, {threads} threads each"
        rate, cpu = Spread.of([job.images / seconds for seconds in turn.seconds]), Spread.of(turn.cpu).median / per
        table.lines.append(Line(name, rate, cpu, held.get(name), note))
    without = Turn(seconds=[seconds - job.silence for seconds in turns[OURS].seconds], cpu=turns[OURS].cpu)
    rate = Spread.of([job.images / seconds for seconds in without.seconds])
    table.lines.insert(1, Line(f"{OURS}, without the tail", rate, note=f"the same runs, {job.silence} s less"))
    result.tables.insert(0, table)
    result.figures += [
        Figure(f"objects of URLs, without the tail: part of the {limit}", faster(without, turns[limit]), 0.9),
        Figure(f"objects of URLs, without the tail: part of the {same}", faster(without, turns[same]), None),
        Figure(f"objects of URLs, the whole run: part of the {limit}", faster(turns[OURS], turns[limit]), None),
        Figure(f"objects of URLs: times {PEER}", faster(turns[OURS], turns[PEER]), 2),
        Figure(f"objects of URLs: times less CPU time than {PEER}", thriftier(turns[OURS], turns[PEER]), None),
    ]


def test_url_columns(bench: report.Bench) -> None:
    bench(measure)


if __name__ == "__main__":
    report.main(measure)
