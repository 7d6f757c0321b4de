"""Messages between a loader and its workers: bytes, with descriptors of files beside them."""

from __future__ import annotations

import contextlib
import os
import socket
import struct
import threading

_HEAD = struct.Struct("<QI")  # bytes of the message, descriptors


class Channel:
    """One end of a connection. One thread at a time receives; any threads send."""

    def __init__(self, end: socket.socket) -> None:
        self._end = end
        self._sending = threading.Lock()

    def fileno(self) -> int:
        """Returns the descriptor of the connection."""
        return self._end.fileno()

    def send(self, message: bytes, files: list[int] | None = None) -> None:
        """Sends a message, and copies of descriptors. Raises OSError if the other end is closed."""
        head = _HEAD.pack(len(message), len(files or ()))
        with self._sending:
            if files:
                socket.send_fds(self._end, [head], files)
                self._end.sendall(message)
            else:
                self._end.sendall(head + message)

    def receive(self) -> tuple[bytes, list[int]] | None:
        """Waits for a message, and returns it with its descriptors; None: the other end is
        closed.
        """
        try:
            head, files, _, _ = socket.recv_fds(self._end, _HEAD.size, 16)
            if not head:
                return None
            head += self._exactly(_HEAD.size - len(head))
            size, count = _HEAD.unpack(head)
            message = self._exactly(size)
        except (EOFError, ConnectionError):
            return None
        if len(files) != count:
            for file in files:
                os.close(file)
            raise OSError(f"receive a message: {len(files)} of {count} descriptors came; raise `ulimit -n`")
        return message, list(files)

    def _exactly(self, size: int) -> bytes:
        data = bytearray(size)
        view = memoryview(data)
        while view:
            got = self._end.recv_into(view)
            if got == 0:
                raise EOFError
            view = view[got:]
        return bytes(data)

    def shut(self) -> None:
        """Ends the connection for both sides: a thread in `receive` returns."""
        with contextlib.suppress(OSError):  # the other end has closed
            self._end.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Closes the descriptor."""
        self._end.close()
