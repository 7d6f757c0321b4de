"""`pytest benchmarks`: the short comparison. What is wrong fails; what is slow is shown, not failed.

A busy machine makes any threshold a coin toss, so the bars of the figures are held by `run.py --full` alone.
"""

from __future__ import annotations

import pytest
import report


@pytest.fixture
def bench(request: pytest.FixtureRequest) -> report.Bench:
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
