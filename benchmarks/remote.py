"""Object stores to measure against: real servers on this machine, behind a proxy that gives them a network's delays.

The servers and the proxy are those of the tests (go/tests/cmd/objectstore). A bucket is filled from a folder once for
each server, which lives as long as the process.
"""

from __future__ import annotations

import json
import os
import subprocess
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

import data
import machine
from protocol import Contender

ROOT = Path(__file__).resolve().parent.parent
# The machine of an object store as the tables mean it: 25 ms to the first byte, 90 MB/s for each
# connection.
NETWORK = "s3"


@dataclass(frozen=True)
class Store:
    """One server, reached directly or through its proxy."""

    endpoint: str
    proxy: str
    control: str
    region: str
    access_key: str
    secret_key: str
    ca_file: str = ""  # the authority to trust; empty without TLS

    def settings(self, direct: bool = False) -> dict[str, Any]:
        """Returns the arguments of `deeplake.Storage` that reach the server."""
        found = {
            "endpoint": self.endpoint if direct else self.proxy,
            "region": self.region,
            "credentials": {"access_key_id": self.access_key, "secret_access_key": self.secret_key},
        }
        return found | ({"ca_file": self.ca_file} if self.ca_file else {})

    def environment(self, direct: bool = False) -> dict[str, str]:
        """Returns the environment variables that lead the peers to the server."""
        endpoint = self.endpoint if direct else self.proxy
        return {
            "AWS_ACCESS_KEY_ID": self.access_key,
            "AWS_SECRET_ACCESS_KEY": self.secret_key,
            "AWS_REGION": self.region,
            "AWS_DEFAULT_REGION": self.region,
            "AWS_ENDPOINT_URL": endpoint,
            "S3_ENDPOINT_URL": endpoint,
            "AWS_EC2_METADATA_DISABLED": "true",
            "AWS_ALLOW_HTTP": "true",
        }

    def bucket(self) -> str:
        """Creates an empty bucket and returns its name."""
        name: str = self._ask("POST", "/buckets")["bucket"]
        return name

    def profile(self, name: str) -> None:
        """Makes the proxy behave as the named network from now on."""
        self._ask("PUT", f"/profile?name={name}")

    def rules(self, rules: list[Mapping[str, Any]]) -> None:
        """Gives the proxy the faults to inject."""
        self._ask("PUT", "/rules", json.dumps(rules).encode())

    def counts(self) -> dict[str, Any]:
        """Returns the counters of the proxy since `reset`."""
        found: dict[str, Any] = self._ask("GET", "/counts")
        return found

    def requests(self) -> list[dict[str, Any]]:
        """Returns the requests that the proxy has answered since `reset`, oldest first."""
        found: list[dict[str, Any]] = self._ask("GET", "/requests")
        return found

    def reset(self) -> None:
        """Sets the counters to zero."""
        self._ask("POST", "/reset")

    def _ask(self, method: str, path: str, body: bytes | None = None) -> Any:
        request = urllib.request.Request(self.control + path, body, method=method)
        with urllib.request.urlopen(request) as answer:
            text = answer.read()
        return json.loads(text) if text.strip() else {}


class Servers:
    """Servers that run while the context lasts."""

    def __init__(
        self, *names: str, profile: str = NETWORK, folder: Path | None = None, core: int | None = None
    ) -> None:
        """Starts the servers, on one core if it is named."""
        binary = data.CACHE / "bin" / "objectstore"
        binary.parent.mkdir(parents=True, exist_ok=True)
        subprocess.run(["go", "build", "-o", str(binary), "./go/tests/cmd/objectstore"], check=True, cwd=ROOT)
        scratch = data.CACHE / "servers"
        scratch.mkdir(parents=True, exist_ok=True)
        command = [str(binary), "-profile", profile, *(["-dir", str(folder)] if folder else []), *names]
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
            env=os.environ | {"TMPDIR": str(scratch)},
        )
        if core is not None:
            os.sched_setaffinity(self._process.pid, {core})
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise SystemExit(f"the servers {names} did not start; what they printed says why")
        self._stores = {
            name: Store(
                found["endpoint"],
                found.get("proxy", found["endpoint"]),
                found["control"],
                found.get("region", ""),
                found.get("access_key", ""),
                found.get("secret_key", ""),
                found.get("ca_file", ""),
            )
            for name, found in json.loads(line).items()
        }

    def __getitem__(self, name: str) -> Store:
        return self._stores[name]

    def cpu(self) -> float:
        """Returns the processor seconds that the servers and their proxies have used."""
        return machine.cpu_seconds(self._process.pid)

    def __enter__(self) -> Servers:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()


class RemoteContender(Contender):
    """A contender that reads from servers on this machine, with the processor time that they took."""

    def __init__(self, servers: Servers, name: str, module: str, factory: str, /, **arguments: Any) -> None:
        super().__init__(name, module, factory, **arguments)
        self._servers = servers

    def call(self, call: str, /, **arguments: Any) -> dict[str, Any]:
        """Calls a method there. The value's `lost` is the time, in seconds, that the servers cost the contender.

        On n processors that are busy for a share p of the time, s seconds of the servers cost s / n * p. Work of the
        servers costs nothing while the contender waits. `others` does not count the servers.
        """
        before = self._servers.cpu()
        answer = super().call(call, **arguments)
        cores, seconds = machine.cores(), answer["seconds"]
        served = (self._servers.cpu() - before) / cores
        busy = min(answer["cpu"] / (cores * seconds), 1.0) if seconds else 0.0
        answer["value"]["lost"] = served * busy
        answer["others"] = max(0.0, answer["others"] - served / seconds) if seconds else 0.0
        return answer
