"""The rows of the Python package: estimators on the coarse graph, and cuts of region adjacency graphs."""

from .contest import Row
from .targets import OURS

PARTS = 8
SOLVERS = ("arpack", "lobpcg", "amg")
# Name, whether a quarter of many vertices stands for all, whether the whole spectrum is computed.
NCUT_PYTORCH = (
    ("ncut-pytorch, as it comes", True, False),
    ("ncut-pytorch, all vertices", False, False),
    ("ncut-pytorch, all vertices, exact", False, True),
)


def rows(case):
    """The package, scikit-learn and ncut-pytorch, then the package and scikit-image."""
    for tau in (2, 1):
        yield estimator(case, OURS if tau == 2 else f"{OURS}, τ = {tau}", whose="ccbcut", tau=tau)
    for solver in SOLVERS:
        yield estimator(case, f"SpectralClustering {solver}", whose="scikit-learn", solver=solver)
    for name, samples, exact in NCUT_PYTORCH:
        yield estimator(case, name, whose="ncut-pytorch", samples=samples, exact=exact, shape=case.shape)
    for name, whose in ((OURS, "ccbcut"), ("scikit-image", "scikit-image")):
        yield Row(case.name, "rag", name, *by_regions(case, whose))


def estimator(case, name, **task):
    tag = "-".join(["python", *(str(task[key]) for key in ("whose", "tau", "solver", "samples", "exact") if key in task)])
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
        # Each is judged on the problem that it solves: scikit-learn leaves self-loops out of the degrees. ncut-pytorch's
        # vectors are those of the symmetric matrix, the others' are divided by √π.
        loops = task["whose"] != "scikit-learn"
        more = {"pi": case.file("pi.npy")} if loops else {}
        is_embedding = task["whose"] != "ncut-pytorch"
        judged = case.vectors(vectors.name, graph.name, loops=loops, is_embedding=is_embedding, **more)
        return {**facts, "residual": judged["residual"]}

    return Row(case.name, "python", name, once, after)


def by_regions(case, whose):
    seen = {}

    def once():
        found = case.by_worker("regions", image=case.image, whose=whose, n_regions=400, thresh=0.01)
        seen.update({key: found[key] for key in ("ncut", "ccn", "n_segments")} if found else {})
        return found

    return once, lambda: dict(seen)
