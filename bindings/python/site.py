"""What the documentation site has beside the files of docs/: the design page, and pictures made by the build."""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from mkdocs.structure.files import File, Files

matplotlib.use("Agg")

import matplotlib.pyplot as plt

ROOT = Path(__file__).resolve().parents[2]
BLOCK = re.compile(r"```python gallery=(\w+)\n(.*?)```", re.DOTALL)


def on_files(files: Files, config: Any) -> Files:
    """Adds the design page and one picture for each block of code of the gallery."""
    design = (ROOT / "DESIGN.md").read_text(encoding="utf-8").replace("](docs/", "](")
    files.append(File.generated(config, "design.md", content=design))
    names: dict[str, Any] = {}
    gallery = (ROOT / "docs" / "gallery.md").read_text(encoding="utf-8")
    for name, code in BLOCK.findall(gallery):
        plt.close("all")
        np.random.seed(0)
        exec(compile(code, f"gallery.md, {name}", "exec"), names)
        picture = io.BytesIO()
        plt.savefig(picture, format="png", dpi=90, bbox_inches="tight")
        files.append(File.generated(config, f"images/gallery-{name}.png", content=picture.getvalue()))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:
    """Links to the design page stay inside the site; a block of the gallery is followed by its picture."""
    if page.file.src_uri == "gallery.md":
        return BLOCK.sub(r"```python\n\2```\n\n![](images/gallery-\1.png)", markdown)
    return re.sub(r"\]\((?:\.\./)+DESIGN\.md", f"]({'../' * page.file.src_uri.count('/')}design.md", markdown)
