"""How long it takes until our own code can run, in a fresh interpreter, median of several."""

import statistics
import subprocess
import sys
import time

import pytest

ROUNDS = 7


def milliseconds(statement: str) -> float:
    """The median time of a whole interpreter that executes `statement`."""
    times = []
    for _ in range(ROUNDS):
        began = time.perf_counter()
        subprocess.run([sys.executable, "-c", statement], check=True)
        times.append((time.perf_counter() - began) * 1000)
    return statistics.median(times)


@pytest.mark.bench
def test_import_cost_above_a_bare_interpreter() -> None:
    bare = milliseconds("pass")
    for module in ("tui_agent", "tui_agent.vocabulary", "tui_agent.cli"):
        print(f"import {module}: {milliseconds(f'import {module}') - bare:.1f} ms")
