"""Shapes in signatures are checked here, and only here; each test runs on one thread, from the same seed."""

import os
import signal

import pytest
from hypothesis import HealthCheck, settings
from jaxtyping import install_import_hook

CHECKED = ["kernels", "attention", "nn", "models", "objectives", "decode", "data.batch"]
install_import_hook([f"regard.{room}" for room in CHECKED], "shape_checks.check")

import torch  # noqa: E402

if not torch.cuda.is_available():
    # Kernels written in Triton are interpreted (`triton_device.py`), which it must know when it is first imported.
    os.environ["TRITON_INTERPRET"] = "1"

pytest_plugins = ["command_line", "tagging_runs"]

settings.register_profile("everyday", deadline=None, max_examples=20, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("long", deadline=None, max_examples=300, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "everyday"))

# A program started in the background ignores Ctrl-C; the tests of it need what a terminal gives.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def _one_seed() -> None:
    torch.set_num_threads(1)
    torch.manual_seed(0)
