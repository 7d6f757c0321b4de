"""Results of queries as views, and what views can be turned into."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from deeplake import _native, _storage
from deeplake._errors import InvalidArgumentError
from deeplake._names import checks_keywords
from deeplake._query import Answer, Explanation, Question, answer
from deeplake._source import Pinned
from deeplake._storage import Storage, Stores
from deeplake._view import View


class QueryView(View):
    """The rows that a query gave: a view like any other, of what was selected.

    It reads one version for ever, and pickles as (version, query, parameters, seed): another process asks the query
    again. Functions of `deeplake.tql` that it calls have to be registered there too.
    """

    __slots__ = ()
    _source: Pinned

    def __reduce__(self) -> tuple[Any, ...]:
        return QueryView, (self._source,)

    @property
    def text(self) -> str:
        """The query as it was understood, in its canonical form."""
        answer = self._answer()
        return str(answer.about.get("query") or answer.question.text)

    def explain(self, text: str = "", *params: Any, **options: Any) -> Explanation:
        """Returns how the query was carried out; with a text, how that would be carried out on these rows."""
        if text == "" and params:
            raise InvalidArgumentError("explain: there are parameters and no query; give its text")
        answer = self._answer()
        if text == "" and answer.about.get("query") is None and answer.of is not None:
            # loaded by its rows, not asked
            return View(answer.of).explain(
                answer.question.text, *answer.question.params, _stored=answer.question.stored, **options
            )
        if text != "" or options:
            return super().explain(text, *params, **options)
        about = _native.explain(answer.root(), "", [], [])
        return Explanation(about["text"], about["explanation"])

    def _answer(self) -> Answer:
        version = self._source.version
        assert isinstance(version, Answer)
        version.root()  # asks, if this process has not yet
        return version


@checks_keywords
def query(
    text: str,
    *params: Any,
    seed: int = 0,
    memory: int | None = None,
    threads: int | None = None,
    storage: Storage | None = None,
    link_storage: Mapping[str, Storage | None] | None = None,
) -> QueryView:
    """Asks a query of the datasets that its FROM names: `deeplake.query('SELECT * FROM "s3://bucket/flowers"')`.

    Args:
        text, params, seed, memory, threads: as in `View.query`.
        storage: settings of the store of the dataset that is named first. Its secrets go to others only on the same
            server: the same host, or buckets of the same endpoint.
        link_storage: settings of others, by prefix of their URLs; and where text stored in them may lead, as for
            `deeplake.open`.
    """
    stores = _storage.access(storage, link_storage)
    return ask(None, text, params, seed=seed, memory=memory, threads=threads, storage=stores)


def ask(
    of: Pinned | None,
    text: str,
    params: tuple[Any, ...],
    *,
    seed: int,
    memory: int | None,
    threads: int | None,
    storage: Stores = None,
) -> QueryView:
    """Asks a query of some rows, or of the datasets that it names."""
    question = Question(text, params, seed, memory, threads)
    return QueryView(answer(of, question, storage if of is None else of.version.storage))
