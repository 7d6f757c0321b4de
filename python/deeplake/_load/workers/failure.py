"""Exceptions of workers, raised again in the process of the loop."""

from __future__ import annotations

import pickle

from deeplake._load.workers.task import Failure


def raised(failure: Failure) -> BaseException:
    """Returns the exception of a worker, caused by the text of its traceback there."""
    err: BaseException
    if failure.pickled is None:
        err = RuntimeError(failure.summary)
        for text in failure.notes if hasattr(err, "add_note") else ():
            err.add_note(text)  # type: ignore[attr-defined]
    else:
        err = pickle.loads(failure.pickled)
    err.__cause__ = _Traceback(failure.traceback)
    return err


class _Traceback(Exception):  # noqa: N818 - it is shown as a cause, and never caught
    """The traceback of an exception in the worker."""

    def __init__(self, text: str) -> None:
        super().__init__(text)

    def __str__(self) -> str:
        return f'\n"""\n{self.args[0]}"""'
