"""`pytest benchmarks`: the short comparison. Wrong results fail; slow ones are shown.

A busy machine makes any threshold a coin toss, so the bars of the figures are held by `run.py --full` alone.
"""

from __future__ import annotations

import time

import pytest
import report

# The comparison ends within ten minutes: no module starts when this much is gone. None needs two
# minutes for itself.
BUDGET_SECONDS = 8 * 60

_began = time.monotonic()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The loader first, object stores last: a slow machine goes without them."""
    names = [f"test_{name}" for name in report.ORDER]
    items.sort(key=lambda item: names.index(item.path.stem) if item.path.stem in names else -1)


@pytest.fixture
def bench(request: pytest.FixtureRequest) -> report.Bench:
    spent = time.monotonic() - _began
    if spent > BUDGET_SECONDS:
        name = request.path.stem.removeprefix("test_")
        pytest.skip(f"{spent / 60:.0f} of ten minutes are over: python benchmarks/run.py {name} runs it alone")

    def run(measure: report.Measure) -> object:
        result = measure(False)
        report.save(result)
        request.config.stash.setdefault(_texts, []).append(report.text(result.as_json()))
        return result

    return run  # type: ignore[return-value]


_texts = pytest.StashKey[list[str]]()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    for text in config.stash.get(_texts, []):
        terminalreporter.write_line(text)
    if _texts in config.stash:
        terminalreporter.write_line(f"\nwritten to {report.SHORT / 'README.md'}")
