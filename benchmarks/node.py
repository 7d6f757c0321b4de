"""Nodes of a cluster on one machine: network namespaces whose links are slow, and the ranks that run in them.

The namespaces hang on one bridge, so that the proxy of an object store sees an address for each node, and the kernel
counts the bytes of each. `python node.py JOB` is the process of one rank; `Job` starts and paces them.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from types import TracebackType
from typing import Any, TextIO

import machine
from environments import MissingError

HERE = Path(__file__).resolve().parent
PREFIX = "dlbench"  # of the names of namespaces and interfaces, which have fifteen characters at most
# Seconds without a sign of a rank until a run is given up. Far more than a store's longest retry.
LIMIT_S = 300


class Network:
    """Namespaces on a bridge, a link of its own for each. A context manager.

    Nothing of it is left behind: it is removed after errors and Ctrl-C, and what a killed run has left by the next.
    """

    def __init__(self, nodes: int, rate: int) -> None:
        """Takes the number of nodes, and the bytes a second that a link carries each way.

        Raises:
            MissingError: this user or this machine makes no network namespaces.
        """
        if sys.platform != "linux":
            raise MissingError("network namespaces need Linux")
        path = os.pathsep.join((os.environ.get("PATH", ""), "/usr/sbin", "/sbin"))
        found = [shutil.which(program, path=path) for program in ("ip", "tc")]
        if None in found:
            raise MissingError("no ip and tc here; the package iproute2 has them")
        self._ip, self._tc = (str(one) for one in found)
        if os.geteuid() != 0:
            raise MissingError("network namespaces need root")
        self.nodes, self._rate = nodes, rate
        # Two runs at a time rarely have the same remainder, and then `ip addr add` says so.
        self._net = f"10.77.{os.getpid() % 256}"
        self._made: list[list[str]] = []  # commands, each of which undoes a step; the newest is last

    @property
    def address(self) -> str:
        """Where every node reaches this machine."""
        return f"{self._net}.1"

    def address_of(self, node: int) -> str:
        """Returns the address of a node, as servers see it."""
        return f"{self._net}.{node + 2}"

    def command(self, node: int) -> list[str]:
        """Returns the beginning of a command that runs on a node."""
        return [self._ip, "netns", "exec", self._name(node + 1)]

    def received(self) -> list[int]:
        """Returns the bytes that each node has received so far, heads of packets included."""
        files = (f"/sys/class/net/{self._name(node + 1)}/statistics/tx_bytes" for node in range(self.nodes))
        return [int(Path(file).read_text()) for file in files]

    def __enter__(self) -> Network:
        try:
            self._remove_stale()
            bridge = self._name(0)
            self._run("link", "add", bridge, "type", "bridge", undo=["link", "del", bridge])
            self._run("addr", "add", f"{self.address}/24", "dev", bridge)
            self._run("link", "set", bridge, "up")
            for node in range(self.nodes):
                self._join(node)
        except BaseException as error:
            self._remove()
            if isinstance(error, subprocess.CalledProcessError):
                raise MissingError(f"{' '.join(error.cmd)}: {error.stderr.strip()}") from error
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._remove()

    def _join(self, node: int) -> None:
        """Makes the namespace of a node and its link, which is slow both ways: each end bounds what it sends."""
        name, inside = self._name(node + 1), ["-n", self._name(node + 1)]
        self._run("netns", "add", name, undo=["netns", "del", name])
        peer = ["peer", "name", "eth0", "netns", name]
        self._run("link", "add", name, "type", "veth", *peer, undo=["link", "del", name])
        self._run("link", "set", name, "master", self._name(0), "up")
        self._run(*inside, "addr", "add", f"{self.address_of(node)}/24", "dev", "eth0")
        self._run(*inside, "link", "set", "eth0", "up")
        self._run(*inside, "link", "set", "lo", "up")
        for where, device in (([], name), (inside, "eth0")):
            # A queue of 20 ms, and buckets as large as the packets that the kernel puts together.
            shape = ["rate", f"{8 * self._rate}bit", "burst", "128kb", "latency", "20ms"]
            self._run(*where, "qdisc", "add", "dev", device, "root", "tbf", *shape, program=self._tc)

    def _run(self, *command: str, program: str | None = None, undo: list[str] | None = None) -> None:
        subprocess.run([program or self._ip, *command], check=True, capture_output=True, text=True)
        if undo is not None:
            self._made.append(undo)

    def _remove(self) -> None:
        while self._made:
            # The kernel has removed a link with its namespace.
            subprocess.run([self._ip, *self._made.pop()], check=False, capture_output=True)

    def _name(self, number: int) -> str:
        """Returns the name of the bridge, which is 0, or of a node's namespace and interface, from 1 on."""
        return f"{PREFIX}{os.getpid():x}{number:02x}"

    def _remove_stale(self) -> None:
        """Removes what processes have left that are gone."""
        names = {path.name for folder in ("/run/netns", "/sys/class/net") for path in Path(folder).glob(f"{PREFIX}*")}
        for name in sorted(names):
            found = re.fullmatch(rf"{PREFIX}([0-9a-f]+)[0-9a-f]{{2}}", name)
            if found and not Path("/proc", str(int(found.group(1), 16))).exists():
                for kind in ("link", "netns"):
                    subprocess.run([self._ip, kind, "del", name], check=False, capture_output=True)


class Job:
    """The ranks of one part of a training run, which take their steps together. A context manager."""

    def __init__(self, network: Network, nodes: list[int], per_node: int, limit: float = LIMIT_S) -> None:
        """Takes the nodes that take part; ranks are numbered in their order."""
        self._network, self._places = network, [node for node in nodes for _ in range(per_node)]
        self._limit = limit
        self._stack = ExitStack()
        self._processes: list[subprocess.Popen[bytes]] = []
        self._ends: list[TextIO] = []
        self.world_size = len(self._places)

    def start(self, jobs: list[dict[str, Any]]) -> None:
        """Starts a process for each rank, and returns once all of them have their imports behind them."""
        server = self._stack.enter_context(socket.create_server((self._network.address, 0), backlog=len(jobs)))
        address = list(server.getsockname())
        environment = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
        for rank, (node, job) in enumerate(zip(self._places, jobs, strict=True)):
            told = json.dumps(job | {"rank": rank, "world_size": self.world_size, "coordinator": address})
            process = subprocess.Popen(
                [*self._network.command(node), sys.executable, str(HERE / "node.py"), told],
                cwd=HERE,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=sys.stderr,
                start_new_session=True,  # Ctrl-C is for the benchmark, which ends its ranks
            )
            self._processes.append(process)
            self._stack.callback(_kill, process)
        ends: dict[int, TextIO] = {}
        while len(ends) < self.world_size:
            connection = self._accept(server)
            connection.settimeout(self._limit)
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            end = self._stack.enter_context(connection.makefile("rw"))
            connection.close()  # the file keeps it open
            ends[int(self._hear(end, "a rank that starts"))] = end
        self._ends = [ends[rank] for rank in range(self.world_size)]

    def run(self) -> list[dict[str, Any]]:
        """Lets all ranks take their steps. Returns the report of each.

        Raises:
            RuntimeError: a rank failed, or gave no sign for too long.
            AssertionError: the ranks take different numbers of steps.
        """
        while True:
            for end in self._ends:
                with suppress(OSError):  # of a rank that has ended, which the next line finds out
                    _say(end, "go")
            answers = [json.loads(self._hear(end, f"rank {rank}")) for rank, end in enumerate(self._ends)]
            reports = [answer for answer in answers if "rows" in answer]
            if reports:
                assert len(reports) == self.world_size, f"{len(reports)} of {self.world_size} ranks are at their end"
                self._leave()
                return reports

    def _accept(self, server: socket.socket) -> socket.socket:
        server.settimeout(1)
        until = time.monotonic() + self._limit
        while time.monotonic() < until:
            with suppress(TimeoutError):
                return server.accept()[0]
            self._check()
        raise RuntimeError(f"not all ranks have started within {self._limit:.0f} s")

    def _leave(self) -> None:
        """Waits until the processes have ended by themselves."""
        for rank, process in enumerate(self._processes):
            try:
                process.wait(timeout=self._limit)
            except subprocess.TimeoutExpired as error:
                raise RuntimeError(f"rank {rank} is at its end and does not leave") from error
        self._check()

    def _check(self) -> None:
        for rank, process in enumerate(self._processes):
            if process.poll():
                raise RuntimeError(f"rank {rank} ended with status {process.returncode}; what it printed says why")

    def _hear(self, end: TextIO, name: str) -> str:
        try:
            line = end.readline()
        except TimeoutError as error:
            raise RuntimeError(f"no sign of {name} for {self._limit:.0f} s") from error
        except OSError:
            line = ""
        if not line:
            self._check()
            raise RuntimeError(f"{name} has ended; what it printed says why")
        return line

    def __enter__(self) -> Job:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()


def _say(end: TextIO, line: str) -> None:
    end.write(f"{line}\n")
    end.flush()


def _kill(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait()


class Rank:
    """The process of a rank: it reads as its job says, and waits for the others at each step."""

    def __init__(self, job: dict[str, Any]) -> None:
        self._job = job
        connection = socket.create_connection(job["coordinator"])
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._end = connection.makefile("rw")
        self._waits: list[float] = []
        self._rows: list[int] = []

    def run(self) -> None:
        """Reads, and reports to the coordinator."""
        import deeplake

        job = self._job
        _say(self._end, str(job["rank"]))
        if not self._turn():
            return
        begin = time.perf_counter()
        ds = deeplake.open(job["uri"], storage=deeplake.Storage(**job["storage"]), read_only=True)
        loader = ds.batches(
            rank=job["rank"],
            world_size=job["world_size"],
            shuffle=True,
            num_workers=1,
            return_index=True,
            **job["loader"],
        )
        if job["state"] is not None:
            loader.load_state_dict(job["state"])
        batches = iter(loader)
        for batch in self._timed(batches, begin):
            self._take(batch)
            if len(self._waits) == job["steps"]:
                break
            _say(self._end, "{}")
            if not self._turn():
                return
        state, stats = loader.state_dict(), loader.stats()
        report = {
            "rows": self._rows,
            "waits": self._waits,
            "state": state,
            "fetch": stats["fetch"],
            "peak": machine.memory()["peak"],
        }
        _say(self._end, json.dumps(report))

    def _turn(self) -> bool:
        """Returns whether to go on, once the coordinator has said so."""
        return self._end.readline() == "go\n"

    def _timed(self, batches: Iterator[dict[str, Any]], begin: float) -> Iterator[dict[str, Any]]:
        """Yields the batches. The time until the first one counts from when the dataset was to be opened."""
        for batch in batches:
            self._waits.append(time.perf_counter() - begin)
            yield batch
            time.sleep(self._job["step_s"])
            begin = time.perf_counter()

    def _take(self, batch: dict[str, Any]) -> None:
        """Notes the rows of a batch, which must have their own bytes."""
        rows = batch["_index"]
        said = batch["x"][:, :8].copy().view("<i8")[:, 0]
        assert (said == rows).all(), f"rank {self._job['rank']}: rows {rows.tolist()} have the bytes of {said.tolist()}"
        if "_valid" in batch:
            rows = rows[batch["_valid"]]
        self._rows += rows.tolist()


if __name__ == "__main__":
    Rank(json.loads(sys.argv[1])).run()
