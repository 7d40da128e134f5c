"""Model problems and the command, shared by the tests."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest


@pytest.fixture
def scene() -> np.ndarray:
    """A picture with three parts and a little noise, as 8-bit colours."""
    rng = np.random.default_rng(0)
    image = np.full((48, 64, 3), (60, 90, 140), dtype=np.float64)
    image[10:34, 8:30] = (190, 60, 50)
    image[30:40, 44:54] = (70, 160, 70)
    return np.clip(image + rng.normal(0, 3, image.shape), 0, 255).astype(np.uint8)


@pytest.fixture
def weights() -> np.ndarray:
    """Three planted groups of 30, 20 and 10 vertices."""
    rng = np.random.default_rng(1)
    groups = np.repeat([0, 1, 2], [30, 20, 10])
    upper = np.triu(rng.random((60, 60)) < np.where(groups[:, None] == groups, 0.9, 0.02), 1)
    return (upper + upper.T).astype(np.float64)


@pytest.fixture(scope="session")
def command() -> Callable[..., str]:
    """Runs the command ``ccbcut`` and returns what it prints."""
    root = Path(__file__).resolve().parents[3]
    target = Path(os.environ.get("CARGO_TARGET_DIR", root / "target"))
    found = [os.environ.get("CCBCUT_BIN"), target / "debug" / "ccbcut", target / "release" / "ccbcut"]
    binary = next((str(path) for path in found if path and Path(path).is_file()), None)
    if binary is None:
        if os.environ.get("CI") == "true":
            pytest.fail("CI builds the command before these tests")
        pytest.skip("the command is not built: cargo build, or set CCBCUT_BIN")

    def run(*words: object) -> str:
        done = subprocess.run([binary, *map(str, words)], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run
