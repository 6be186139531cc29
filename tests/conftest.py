"""How tests run: on one thread, from the same seed, with shapes in signatures checked, and every day a part of them.

Where REGARD_CHROMIUM=required, as in CI, a test that is skipped for want of a browser is a failure.

Every day, a law is tried with a few examples, which are always the same, so that a change fails by its own fault alone;
a test of many kinds that is marked `spread` is run for some of them; and shapes are checked in the first case of each
test. `make test-all` tries more examples, new ones each time, in all cases, and checks shapes in all of them.
"""

import os
import signal
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from jaxtyping import config as shape_checks
from jaxtyping import install_import_hook

CHECKED = ["kernels", "attention", "nn", "models", "objectives", "decode", "data.batch"]
install_import_hook([f"regard.{room}" for room in CHECKED], "shape_checks.check")

import torch  # noqa: E402

if not torch.cuda.is_available():
    # Kernels written in Triton are interpreted (`triton_device.py`), which it must know when it is first imported.
    os.environ["TRITON_INTERPRET"] = "1"

pytest_plugins = ["command_line", "tagging_runs", "classifying_runs", "pretraining_runs"]

BROWSER = ("shows", "a page in Chromium")
BROWSER_PROMISED = os.environ.get("REGARD_CHROMIUM") == "required"
PROFILE = os.environ.get("HYPOTHESIS_PROFILE", "everyday")
slow = [HealthCheck.too_slow]
settings.register_profile("everyday", deadline=None, max_examples=10, derandomize=True, suppress_health_check=slow)
settings.register_profile("long", deadline=None, max_examples=300, suppress_health_check=slow)
settings.load_profile(PROFILE)

# A program started in the background ignores Ctrl-C; the tests of it need what a terminal gives.
signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_finish(session: pytest.Session) -> None:
    """Messages name files as seen from here: not from a folder that may have the temporary ones beside it."""
    os.chdir(Path(__file__).parent)


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """How many tests showed something in a browser; where one was promised, none may go without."""
    done = {each: len(_in_browser(terminalreporter, each)) for each in ("passed", "failed", "skipped")}
    if any(done.values()):
        told = ", ".join(f"{count} {each}" for each, count in done.items() if count)
        every = _in_browser(terminalreporter, *terminalreporter.stats)
        tests = sum(report.duration for report in every if report.when == "call")
        # These are models, which others need too, and the browser.
        needed = sum(report.duration for report in every) - tests
        terminalreporter.write_line(f"In Chromium: {told}; {tests:.0f} s, and {needed:.0f} s for what they need")
    if done["skipped"] and BROWSER_PROMISED:
        terminalreporter.write_line("REGARD_CHROMIUM=required, so that a skipped test is a failure", red=True)


def pytest_sessionfinish(session: pytest.Session) -> None:
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if BROWSER_PROMISED and reporter is not None and _in_browser(reporter, "skipped"):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def _in_browser(reporter: Any, *outcomes: str) -> list[pytest.TestReport]:
    every = [report for outcome in outcomes for report in reporter.stats.get(outcome, [])]
    return [each for each in every if isinstance(each, pytest.TestReport) and BROWSER in each.user_properties]


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Of the cases of a test that is marked `spread`, takes that many every day, evenly chosen. Reports know by a
    property of their tests which of them showed a page."""
    cases = defaultdict(list)
    for item in items:
        if item.get_closest_marker("web"):  # a report has the folders of a test among its keywords
            item.user_properties.append(BROWSER)
        if item.get_closest_marker("spread") and not item.get_closest_marker("long"):
            cases[item.path, item.originalname].append(item)
    left_out = set()
    for some in cases.values() if PROFILE == "everyday" else ():
        (most,) = some[0].get_closest_marker("spread").args
        left_out |= set(some) - {some[round(place * (len(some) - 1) / max(1, most - 1))] for place in range(most)}
    config.hook.pytest_deselected(items=[item for item in items if item in left_out])
    items[:] = [item for item in items if item not in left_out]


_checked = set()


@pytest.fixture(autouse=True)
def _reproducible(request: pytest.FixtureRequest) -> None:
    torch.set_num_threads(1)
    torch.manual_seed(0)
    # Checking shapes doubles the time of what calls many small functions.
    test = request.node.path, request.node.originalname
    shape_checks.update("jaxtyping_disable", PROFILE == "everyday" and test in _checked)
    _checked.add(test)
