"""What was promised, and whether it holds. Standard library only.

A promise is judged on every case (image and width of the kernel) and holds only if it holds on the worst.
"""

from dataclasses import dataclass

MET, MISSED, NOT_RUN = "met", "**not met**", "not run"
OURS, ONE_THREAD = "ccbcut", "ccbcut, one thread"
PLAIN, EXPERT = "SciPy + scikit-learn", "SciPy + scikit-learn, banded"


@dataclass(frozen=True)
class Target:
    """A ratio of two rows of a group (`peer` over `ours`) to reach, or a field of a row not to exceed."""

    what: str
    group: str
    limit: float
    peer: str | None = None
    ours: str = OURS
    field: str = "seconds"
    unit: str = "s"

    def promise(self):
        return f"≥ {self.limit:g}×" if self.peer else f"≤ {self.limit:g} {self.unit}".rstrip()


def ratio_targets():
    for k, least in ((1, 15), (28, 5)):
        yield Target(f"τ = 2, k = {k}, against eigsh LA", f"tau2-k{k}", least, "eigsh LA")
    for k, least in ((1, 60), (28, 40)):
        yield Target(
            f"reweighted, warm, k = {k}, against eigsh shift-invert", f"warm-k{k}", least, "eigsh shift-invert"
        )
    for group, what in (("tau2", "τ = 2"), ("warm", "reweighted, warm")):
        for k in (1, 28):
            yield Target(f"{what}, k = {k}, against the banded expert", f"{group}-k{k}", 4, "banded Cholesky + eigsh")
    yield Target("affinity and two decimations, against SciPy", "graph", 20, "SciPy, kept columns only")


def end_to_end_targets():
    for name, most in (("NCut-M", 0.6), ("CCN1-M", 2), ("NCut-H", 1), ("CCN1-H", 3)):
        yield Target(f"segment -k 25, {name}, two threads", name, most)
        yield Target(f"segment -k 25, {name}, against SciPy + scikit-learn", name, 15, PLAIN)
        yield Target(f"segment -k 25, {name}, two threads against one", name, 1.7, ONE_THREAD)


def full_targets():
    for k, least in ((1, 60), (28, 8)):
        yield Target(f"full resolution, τ = 2, k = {k}, against eigsh LA", f"full-k{k}", least, "eigsh LA")
    hierarchical = "full-hierarchical"
    what = "full resolution, τ = 1.25, k = 10, hierarchical"
    yield Target(f"{what}: residual at every sweep", hierarchical, 1e-4, field="residual", unit="")
    yield Target(f"{what}: cost over that of the coarse route", hierarchical, 1.0, field="cost_ratio", unit="")
    yield Target(f"{what}: time (stretch)", hierarchical, 60)
    yield Target(f"{what}: memory", hierarchical, 2000, field="peak_mb", unit="MB")
    yield Target("growth from 0.15 to 12 megapixels: exponent of the time", "growth", 1.15, field="exponent", unit="")
    yield Target("growth: bytes per pixel", "growth", 1400, field="bytes_per_pixel", unit="")


TARGETS = [*ratio_targets(), *end_to_end_targets(), *full_targets()]


def ratio(peer, ours):
    """(peer over ours, whether that is only a lower bound); None where either is missing."""
    if not peer or not ours or not ours.get("seconds"):
        return None
    if peer.get("seconds"):
        return peer["seconds"] / ours["seconds"], False
    if peer.get("over"):
        return peer["over"] / ours["seconds"], True
    return None


def judge(target, rows):
    """One verdict: `rows` are the results of all cases. Returns figures by case and the verdict on the worst."""
    figures = {}
    for case in sorted({row["case"] for row in rows if row["group"] == target.group}):
        mine = {row["name"]: row for row in rows if row["group"] == target.group and row["case"] == case}
        ours = mine.get(target.ours)
        if target.peer:
            found = ratio(mine.get(target.peer), ours)
            if found:
                value, is_bound = found
                # A bound below the limit proves nothing.
                holds = True if value >= target.limit else None if is_bound else False
                figures[case] = {"value": value, "bound": is_bound, "holds": holds}
            elif ours and ours.get("over"):
                figures[case] = {"value": None, "bound": False, "holds": False}
        elif ours:
            value = ours.get(target.field)
            if value is not None:
                figures[case] = {"value": value, "bound": False, "holds": value <= target.limit}
            elif ours.get("over"):
                figures[case] = {"value": None, "bound": False, "holds": False}
    holds = [figure["holds"] for figure in figures.values()]
    if not holds:
        verdict = NOT_RUN
    elif False in holds:
        verdict = MISSED
    else:
        verdict = "not decided" if None in holds else MET
    return {"what": target.what, "promise": target.promise(), "figures": figures, "verdict": verdict}


def verdicts(rows):
    return [judge(target, rows) for target in TARGETS]
