"""The rows of the Python package: estimators on the coarse graph, and cuts of region adjacency graphs."""

from .contest import Row
from .targets import OURS

PARTS = 8
SOLVERS = ("arpack", "lobpcg", "amg")


def rows(case):
    """The package and scikit-learn, then the package and scikit-image."""
    for tau in (2, 1):
        yield estimator(case, OURS if tau == 2 else f"{OURS}, τ = {tau}", whose="ccbcut", tau=tau)
    for solver in SOLVERS:
        yield estimator(case, f"SpectralClustering {solver}", whose="scikit-learn", solver=solver)
    for name, whose in ((OURS, "ccbcut"), ("scikit-image", "scikit-image")):
        yield Row(case.name, "rag", name, *by_regions(case, whose))


def estimator(case, name, **task):
    tag = f"python-{task['whose']}-{task.get('solver', task.get('tau'))}"
    labels, vectors = case.file(f"{tag}.npy"), case.file(f"{tag}-vectors.npy")
    graph, seen = case.file("coarse.npz"), {}

    def once():
        found = case.by_worker("estimator", graph=graph, k=PARTS, out=labels, vectors=vectors, **task)
        seen.update({key: found[key] for key in ("residual",) if found and key in found})
        return found

    def after():
        costs = case.machine.ours("cost", graph, labels, "--tau", 1)[0]
        facts = {"ncut": costs["costs"]["ncut"], "ccn": costs["costs"]["ccn"], "n_segments": costs["n_segments"]}
        if task.get("tau") == 1:  # another matrix at the end: what the last sweep reports
            return {**facts, **seen}
        ours = task["whose"] == "ccbcut"
        more = {"pi": case.file("pi.npy")} if ours else {}
        judged = case.vectors(vectors.name, graph.name, loops=ours, is_embedding=True, **more)
        return {**facts, "residual": judged["residual"]}

    return Row(case.name, "python", name, once, after)


def by_regions(case, whose):
    seen = {}

    def once():
        found = case.by_worker("regions", image=case.image, whose=whose, n_regions=400, thresh=0.01)
        seen.update({key: found[key] for key in ("ncut", "ccn", "n_segments")} if found else {})
        return found

    return once, lambda: dict(seen)
