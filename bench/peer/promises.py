"""Promises that have no peer: the reweighted cut at full resolution, and growth."""

import math

from .contest import Row
from .machine import Failure
from .targets import OURS


def full_hierarchical(machine, name, image):
    """Our own promise at full resolution, one row per image."""
    seen, threads = {}, 2

    def once():
        words = ["--tau", 1.25, "-k", 10, "--method", "hierarchical", "-o", machine.folder / "full-h.npy", "--force"]
        words += ["--sigma", 5, "--smooth", 0, "--min-share", 0, "--rejoin", 0]
        coarse, _ = machine.ours("segment", image, *words, "--levels", 2, threads=threads, timeout=machine.cap)
        report, child = machine.ours("segment", image, *words, "--levels", 0, threads=threads, timeout=machine.cap)
        if report is None:
            return None
        seen.update(residual=max(sweep["residual"] for sweep in report["trace"]), cost=report["costs"]["ccn"])
        if coarse is not None:
            seen["cost_ratio"] = report["costs"]["ccn"] / coarse["costs"]["ccn"]
        return {"seconds": child.wall, "cpu": child.cpu, "peak_mb": child.peak_mb}

    return Row(name, "full-hierarchical", OURS, once, lambda: dict(seen), threads)


def growth(machine, name, image, heights):
    """One row for the growth of time and memory with the number of pixels, and one for each size."""
    points = []

    def at(height, width):
        big = machine.folder / f"growth-{height}.png"
        machine.task("picture", source=image, out=big, height=height, width=width)
        words = [
            "--method",
            "multiway",
            "--tau",
            2,
            "-k",
            10,
            "--sigma",
            5,
            "--smooth",
            0,
            "--levels",
            0,
            "-o",
            machine.folder / "growth.npy",
            "--force",
        ]
        report, child = machine.ours("segment", big, *words, threads=2, timeout=machine.cap)
        big.unlink()
        if report is None:
            return None
        seconds = sum(stage["ms"] for stage in report["stages"] if stage["name"] not in ("read", "write")) / 1e3
        points.append((height * width, seconds, child.peak_mb * 2**20))
        return {"seconds": seconds, "cpu": child.cpu, "peak_mb": child.peak_mb}

    for height, width in heights:
        yield Row(
            name, "growth", f"{height * width / 1e6:.2f} megapixels", lambda h=height, w=width: at(h, w), threads=2
        )

    def whole():
        if len(points) < 2:
            raise Failure("fewer than two sizes came through")
        return {"seconds": points[-1][1], "cpu": 0.0, "peak_mb": points[-1][2] / 2**20}

    def after():
        (n0, t0, _), (n1, t1, bytes1) = points[0], points[-1]
        return {"exponent": math.log(t1 / t0) / math.log(n1 / n0), "bytes_per_pixel": bytes1 / n1}

    yield Row(name, "growth", OURS, whole, after, threads=2)
