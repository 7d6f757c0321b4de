"""Failures between a user and a store: each has its own error, which comes soon and names the remedy."""

from __future__ import annotations

import pickle
import socket
import threading
import time
from collections.abc import Callable, Iterator

import deeplake
import pytest
from servers import Server

SECRET = "t0ps3cret"
BOUND = 10.0  # seconds, with the settings that are there by default


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    monkeypatch.setenv("HOME", str(tmp_path_factory.mktemp("home")))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("GCE_METADATA_HOST", "127.0.0.1:1")


@pytest.fixture
def silent() -> Iterator[str]:
    """The address of a server that takes connections and says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"http://127.0.0.1:{server.getsockname()[1]}"


@pytest.fixture
def website() -> Iterator[str]:
    """The address of something that is no store."""
    page = b"<!doctype html><title>Welcome</title>"
    head = b"HTTP/1.1 404 Not Found\r\nContent-Type: text/html\r\nConnection: close\r\nContent-Length: %d\r\n\r\n"

    def answer() -> None:
        while True:
            try:
                connection, _ = server.accept()
            except OSError:
                return
            with connection:
                connection.recv(65536)
                connection.sendall(head % len(page) + page)

    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=answer)
        thread.start()
        yield f"http://127.0.0.1:{server.getsockname()[1]}"
        server.shutdown(socket.SHUT_RDWR)
        thread.join()


def fails(kind: type[deeplake.Error], says: str, call: Callable[[], object]) -> str:
    """Checks the error of a call, and that it comes in time. Returns its text."""
    begin = time.perf_counter()
    with pytest.raises(kind, match=says) as caught:
        call()
    took = time.perf_counter() - begin
    text = str(caught.value)
    assert took < BOUND, f"after {took:.1f} s: {text}"
    assert SECRET not in text
    return text


def storage(server: Server, *, through_proxy: bool = False, **changes: object) -> deeplake.Storage:
    return deeplake.Storage(**server.settings(through_proxy=through_proxy) | changes)


def both(uri: str, settings: deeplake.Storage) -> list[Callable[[], object]]:
    return [lambda: deeplake.open(uri, storage=settings), lambda: deeplake.create(uri, storage=settings)]


def test_missing_bucket(store: Server) -> None:
    uri = store.uri("no-such-bucket", "set")
    for call in both(uri, storage(store)):
        fails(deeplake.NotFoundError, r'bucket.*"?no-such-bucket"?.*check its name, or create it', call)
    assert not deeplake.exists(uri, storage=storage(store))


def test_missing_dataset(store: Server) -> None:
    uri = store.uri(store.new_bucket(), "set")
    fails(deeplake.NotFoundError, "there is no dataset", lambda: deeplake.open(uri, storage=storage(store)))


def test_unreachable_host(store: Server) -> None:
    uri = store.uri("bucket", "set")
    for call in both(uri, storage(store, endpoint="http://127.0.0.1:1")):
        fails(deeplake.StorageError, r"127\.0\.0\.1:1.*cannot be reached: connection refused.*check the endpoint", call)


def test_unknown_host(store: Server) -> None:
    uri = store.uri("bucket", "set")
    for call in both(uri, storage(store, endpoint="http://no-such-host.invalid")):
        fails(deeplake.StorageError, r"no-such-host\.invalid.*(not known|cannot be reached).*check the endpoint", call)


def test_silent_host(store: Server, silent: str) -> None:
    uri = store.uri("bucket", "set")
    fails(
        deeplake.StorageError,
        r"does not answer within 5s; check the endpoint",
        lambda: deeplake.open(uri, storage=storage(store, endpoint=silent)),
    )
    begin = time.perf_counter()
    with pytest.raises(deeplake.StorageError, match=r"does not answer within 200ms|no answer for 0\.2 s"):
        deeplake.open(uri, storage=storage(store, endpoint=silent, timeout=0.2))
    assert time.perf_counter() - begin < BOUND


def test_wrong_endpoint(store: Server, website: str) -> None:
    uri = store.uri("bucket", "set")
    for call in both(uri, storage(store, endpoint=website)):
        fails(deeplake.StorageError, r"(web page|not answer as S3).*check the endpoint", call)
    for endpoint in ("ftp://host", "no url"):
        fails(
            deeplake.InvalidArgumentError,
            "endpoint",
            lambda endpoint=endpoint: deeplake.open(uri, storage=storage(store, endpoint=endpoint)),
        )


def test_wrong_keys(s3: Server) -> None:
    uri = s3.uri(s3.new_bucket(), "set")
    for keys in (
        {"access_key_id": s3.access_key, "secret_access_key": SECRET},
        {"access_key_id": "nobody", "secret_access_key": SECRET},
    ):
        for call in both(uri, storage(s3, credentials=keys)):
            fails(deeplake.AccessDeniedError, r"credentials|access key|secret", call)


def test_no_credentials(s3: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    fails(
        deeplake.AccessDeniedError,
        "credentials.*anonymous",
        lambda: deeplake.open("s3://bucket/set", storage=deeplake.Storage(endpoint=s3.endpoint, region=s3.region)),
    )
    fails(
        deeplake.AccessDeniedError, "no Google credentials found.*anonymous", lambda: deeplake.open("gs://bucket/set")
    )


def answer(status: int, code: str) -> dict[str, object]:
    return {"do": {"fault": "answer", "status": status, "code": code}}


@pytest.mark.parametrize(
    ("status", "code", "kind", "says"),
    [
        (403, "AccessDenied", deeplake.AccessDeniedError, "denied"),
        (400, "ExpiredToken", deeplake.AccessDeniedError, "expired"),
        (403, "ExpiredToken", deeplake.AccessDeniedError, "expired"),
        (403, "RequestTimeTooSkewed", deeplake.StorageError, "clock.*set it right"),
    ],
)
def test_refusals_of_s3(proxy: Server, status: int, code: str, kind: type[deeplake.Error], says: str) -> None:
    uri = proxy.uri(proxy.new_bucket(), "set")
    proxy.rules(answer(status, code))
    for call in both(uri, storage(proxy, through_proxy=True)):
        fails(kind, says, call)


@pytest.mark.parametrize(
    ("status", "code", "says"),
    [(403, "forbidden", "permission denied"), (401, "authError", "token is refused: it has expired")],
)
def test_refusals_of_google(gcs_proxy: Server, status: int, code: str, says: str) -> None:
    uri = gcs_proxy.uri(gcs_proxy.new_bucket(), "set")
    gcs_proxy.rules(answer(status, code))
    settings = storage(gcs_proxy, through_proxy=True, anonymous=False, credentials={"bearer_token": SECRET})
    for call in both(uri, settings):
        fails(deeplake.AccessDeniedError, says, call)


@pytest.mark.parametrize("google", [False, True])
def test_fields_of_a_failure(proxy: Server, gcs_proxy: Server, google: bool) -> None:
    server = gcs_proxy if google else proxy
    settings = storage(server, through_proxy=True, max_attempts=2)
    uri = server.uri(server.new_bucket(), "set")
    deeplake.create(uri, storage=settings).close()
    server.rules(answer(503, "SlowDown"))
    with pytest.raises(deeplake.StorageError) as caught:
        deeplake.open(uri, storage=settings)
    server.rules(answer(400, "InvalidArgument"))
    with pytest.raises(deeplake.StorageError) as final:
        deeplake.open(uri, storage=settings)
    error = caught.value
    assert error.request_id == final.value.request_id == "INJECTED"
    assert error.retryable is True and final.value.retryable is False
    assert error.operation and error.object and f'{error.operation} "{error.object}": ' in str(error)
    again = pickle.loads(pickle.dumps(error))
    assert vars(again) == vars(error) and str(again) == str(error)


def test_wrong_region(proxy: Server) -> None:
    uri = proxy.uri(proxy.new_bucket(), "set")
    proxy.rules(answer(400, "AuthorizationHeaderMalformed"))
    fails(
        deeplake.StorageError,
        r'region "mars-1".*set region',
        lambda: deeplake.open(uri, storage=storage(proxy, through_proxy=True, region="mars-1")),
    )


def test_credentials_that_are_no_file(gcs: Server) -> None:
    settings = storage(gcs, anonymous=False, credentials="/no/such/key.json")
    for call in both("gs://bucket/set", settings):
        fails(deeplake.InvalidArgumentError, r'read Google credentials "/no/such/key\.json": no such file', call)


def test_the_kinds_are_those_of_python(s3: Server) -> None:
    assert issubclass(deeplake.AccessDeniedError, PermissionError)
    with pytest.raises(LookupError):
        deeplake.open("s3://no-such-bucket/set", storage=storage(s3))
    with pytest.raises(OSError, match="cannot be reached"):
        deeplake.open("s3://bucket/set", storage=storage(s3, endpoint="http://127.0.0.1:1"))
