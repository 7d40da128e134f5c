"""The code of the README and of the guide runs as it stands there."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def names(scene, tmp_path, monkeypatch):
    """What a reader has: a photo in the folder, an image and its truths, and data."""
    Image.fromarray(scene).save(tmp_path / "photo.jpg")
    monkeypatch.chdir(tmp_path)
    truth = np.zeros(scene.shape[:2], dtype=int)
    truth[10:34, 8:30] = 1
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(center, 0.3, (40, 2)) for center in ((0, 0), (4, 0), (0, 4))])
    tokens = rng.normal(size=(6 * 8, 16))
    volume = rng.normal(size=(6, 20, 24)).astype(np.float32)
    volume[:, 5:15, 6:18] += 9
    given = {"image": scene, "truths": [truth], "X": X, "tokens": tokens, "volume": volume}
    return {**given, "np": np, "__name__": "docs"}


def test_the_readme(names):
    blocks = re.findall(
        r"^```python\n(.*?)^```", (ROOT / "README.md").read_text("utf-8"), re.DOTALL | re.MULTILINE
    )
    assert blocks
    for block in blocks:
        exec(compile(block, "README.md", "exec"), names)
    assert names["labels"].max() == 7


def test_the_guide(names):
    text = (ROOT / "docs" / "guide" / "python.md").read_text("utf-8")
    blocks = re.findall(r"(?:^    .*\n)+", text, re.MULTILINE)
    code = [
        "\n".join(line[4:] for line in block.splitlines()) for block in blocks if "pip install" not in block
    ]
    assert len(code) > 4
    for block in code:
        exec(compile(block, "docs/guide/python.md", "exec"), names)
