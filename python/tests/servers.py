"""Real object stores for tests and benchmarks: started before, stopped after, with a proxy in between that makes faults."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import threading
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]


def send_range(handler: BaseHTTPRequestHandler, content: bytes, headers: dict[str, str]) -> int:
    """Answers a request for a file, or for the range of it that the request names.

    Returns the number of bytes of the answer.
    """
    first, last = 0, len(content) - 1
    asked = handler.headers.get("Range")
    if asked:
        begin, _, end = asked.removeprefix("bytes=").partition("-")
        first, last = int(begin), min(int(end or last), last)
        headers = {**headers, "Content-Range": f"bytes {first}-{last}/{len(content)}"}
    handler.send_response(206 if asked else 200)
    for name, value in {**headers, "Content-Length": str(last - first + 1)}.items():
        handler.send_header(name, value)
    handler.end_headers()
    if handler.command == "GET":
        handler.wfile.write(content[first : last + 1])
    return last - first + 1


@dataclass(frozen=True)
class Server:
    """One object store. Where a method takes a bucket, new_bucket made it."""

    scheme: str  #: of the URIs of its objects: "s3", "gs" or "http"
    endpoint: str  #: the server itself
    proxy: str  #: the same through the proxy; "" without one
    control: str
    region: str = ""
    access_key: str = ""
    secret_key: str = ""
    ca_file: str = ""

    def settings(self, *, through_proxy: bool = False) -> dict[str, Any]:
        """Keyword arguments of deeplake.Storage that reach the server."""
        endpoint = self.proxy if through_proxy else self.endpoint
        if self.scheme == "gs":
            return {"endpoint": endpoint, "anonymous": True}
        if self.scheme == "http":
            return {}
        out = {
            "endpoint": endpoint,
            "region": self.region,
            "credentials": {"access_key_id": self.access_key, "secret_access_key": self.secret_key},
        }
        return out | ({"ca_file": self.ca_file} if self.ca_file else {})

    def environment(self, *, through_proxy: bool = False) -> dict[str, str]:
        """Variables by which every client of the protocol finds the server, ours and others."""
        endpoint = self.proxy if through_proxy else self.endpoint
        if self.scheme == "gs":
            return {"STORAGE_EMULATOR_HOST": endpoint}
        return {
            "AWS_ENDPOINT_URL": endpoint,
            "AWS_REGION": self.region,
            "AWS_ACCESS_KEY_ID": self.access_key,
            "AWS_SECRET_ACCESS_KEY": self.secret_key,
            "AWS_EC2_METADATA_DISABLED": "true",
        } | ({"AWS_CA_BUNDLE": self.ca_file} if self.ca_file else {})

    def new_bucket(self) -> str:
        """The name of a new, empty bucket."""
        return str(json.loads(self._call("POST", "/buckets"))["bucket"])

    def uri(self, bucket: str, *parts: str) -> str:
        return "/".join([f"{self.scheme}://{bucket}", *parts])

    def put(self, bucket: str, name: str, data: bytes) -> None:
        """Stores an object from another client."""
        self._call("PUT", f"/objects/{bucket}/{urllib.parse.quote(name)}", data)

    def delete(self, bucket: str, name: str) -> None:
        self._call("DELETE", f"/objects/{bucket}/{urllib.parse.quote(name)}")

    def rules(self, *rules: dict[str, Any]) -> None:
        """Replaces the proxy's rules, e.g. {"method": "GET", "times": 1, "do": {"fault": "reset", "at": 1000}}.

        The fields are those of Rule and Action in go/tests/faultproxy/rule.go. No rule: no fault.
        """
        self._call("PUT", "/rules", json.dumps(rules).encode())

    def link(self, **figures: float) -> None:
        """Replaces the faults of every request through the proxy: delay_ms, jitter_ms, rate, total_rate, tail_p, tail_ms."""
        self._call("PUT", "/link", json.dumps(figures).encode())

    def profile(self, name: str) -> None:
        """Replaces link and rules by those of lan, s3, jittery, bad or slow-link."""
        self._call("PUT", f"/profile?name={name}", b"")

    def counts(self) -> dict[str, Any]:
        """Returns the proxy's counts since the last reset: requests, faults, bytes_out, methods, rules, ..."""
        return dict(json.loads(self._call("GET", "/counts")))

    def requests(self) -> list[dict[str, Any]]:
        """Every request that the proxy saw since the last reset: method, target, range, status, begin_ms, end_ms, ..."""
        return list(json.loads(self._call("GET", "/requests")) or [])

    def reset(self) -> None:
        """Sets the counters to zero."""
        self._call("POST", "/reset")

    def _call(self, method: str, path: str, data: bytes | None = None) -> bytes:
        request = urllib.request.Request(self.control + path, data=data, method=method)
        try:
            with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=60) as answer:
                return bytes(answer.read())
        except urllib.error.HTTPError as err:
            raise RuntimeError(f"{method} {path}: {err.read().decode()}") from err


def _go() -> str:
    """The Go toolchain: of the PATH, or the one that make has installed."""
    found = shutil.which("go")
    stamp = ROOT / ".venv" / "stamps" / "go"
    if stamp.exists():
        found = stamp.read_text().strip() or found
    if not found:
        raise RuntimeError("the servers need Go; run `make build` first")
    return shutil.which(found) or found


def command() -> tuple[Path, dict[str, str]]:
    """The program that starts the servers, built if it is not there, and the environment to run it in."""
    go = _go()
    root = subprocess.run([go, "env", "GOROOT"], cwd=ROOT, check=True, capture_output=True, text=True).stdout.strip()
    env = os.environ | {"PATH": os.pathsep.join([str(Path(root) / "bin"), os.environ.get("PATH", "")])}
    program = ROOT / "build" / "servers" / "objectstore"
    subprocess.run(
        [go, "build", "-o", str(program), "./go/tests/cmd/objectstore"],
        cwd=ROOT,
        check=True,
        env=env | {"CGO_ENABLED": "0"},
    )
    subprocess.run([str(program), "build"], cwd=ROOT, check=True, env=env)
    return program, env


@contextlib.contextmanager
def running(
    *names: str, profile: str = "lan", seed: int = 1, folder: Path | None = None
) -> Iterator[dict[str, Server]]:
    """Servers by name ("s3", "s3-tls", "s3-versions", "minio", "gcs", "http"), stopped at the end of the block."""
    program, env = command()
    flags = [f"-profile={profile}", f"-seed={seed}", *([f"-dir={folder}"] if folder else [])]
    with subprocess.Popen(
        [str(program), *flags, *names], cwd=ROOT, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin and process.stdout
        try:
            line = process.stdout.readline()
            if not line:
                raise RuntimeError("the servers did not start; what they said stands above")
            schemes = {"gcs": "gs", "http": "http"}
            yield {
                name: Server(scheme=schemes.get(name, "s3"), **({"proxy": ""} | place))
                for name, place in json.loads(line).items()
            }
        finally:
            process.stdin.close()  # ends it, and so would the end of this process
            timer = threading.Timer(10, process.kill)
            timer.start()
            process.wait()
            timer.cancel()
