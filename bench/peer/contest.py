"""The problems and the contestants: what a row is, how it is run once more, and what it says. Standard library only."""

import statistics
from dataclasses import dataclass, field

from .machine import Failure, say

CUTS = {
    "NCut-M": ("multiway", 2),
    "CCN1-M": ("multiway", 1),
    "NCut-H": ("hierarchical", 2),
    "CCN1-H": ("hierarchical", 1),
}


@dataclass(frozen=True)
class Group:
    key: str
    title: str
    note: str


def groups():
    """All problems, in the order of the page."""
    one = "One thread. "
    found = []
    for k in (1, 28):
        note = "Ours is the stage `embedding` of `ccbcut embed --tau 2`: ordering, factorisation, solution, and the objectives"
        found.append(
            Group(
                f"tau2-k{k}",
                f"Coarse graph, τ = 2, k = {k}",
                one + note + " that the report wants. scikit-learn "
                "leaves self-loops out of the degrees, and is judged on the problem that it solves.",
            )
        )
    for k in (1, 28):
        note = "Ours is the `ms` of that sweep: eigenproblem, choice of ε, objectives. All start from the sweep before."
        found.append(
            Group(
                f"warm-k{k}",
                f"Reweighted coarse graph, τ = 1, k = {k}",
                one + note + " Everybody else gets the reweighted matrix ready.",
            )
        )
    found.append(
        Group(
            "cluster", "Parts of the coarse graph, k = 28", one + "τ = 2; ours is the stage `cut` of `ccbcut cluster`."
        )
    )
    found.append(
        Group(
            "python",
            "The Python package on the coarse graph, k = 8",
            one + "`CCBCut` and `SpectralClustering`, each `fit` on the matrix in memory, tolerance 10⁻⁶, ten restarts of "
            "k-means. `ccbcut` is τ = 2. The residual of τ = 1 is that of the last sweep, as reported; scikit-learn is judged on "
            "the problem that it solves, without self-loops. ncut-pytorch has no tolerance: it takes the same weights as a dense "
            "matrix of 32-bit numbers on the processor, as it comes for a quarter of the vertices where there are more than 8192 and by "
            "a few steps of a random projection. Costs by `ccbcut cost`.",
        )
    )
    found.append(
        Group(
            "rag",
            "Region adjacency graph, cut_normalized",
            one + "400 SLIC regions, the same graph for both, `thresh` 0.01, whatever number of parts comes of it: "
            "`ccbcut.cut_normalized` at τ = 2 and `skimage.graph.cut_normalized`.",
        )
    )
    found.append(
        Group(
            "graph",
            "Affinity and two decimations",
            one + "Ours is the stages `affinity` and `coarsen`; SciPy's "
            "rows start from the pixels in memory and end with the coarse matrix.",
        )
    )
    for name, (method, tau) in CUTS.items():
        found.append(
            Group(
                name,
                f"segment -k 25, {name}",
                f"{method}, τ = {tau}, `n_init` 10, two threads unless said "
                "otherwise. Ours is the whole process, decoding to label map and pictures written; the others start their clocks "
                "after the imports and write a label map only.",
            )
        )
    found.append(
        Group("context", "Other segmenters", "Other problems with other answers, for orientation. One thread.")
    )
    for k in (1, 28):
        found.append(
            Group(
                f"full-k{k}",
                f"Full resolution, τ = 2, k = {k}",
                one + "Ours is the stage `embedding` of `ccbcut "
                "segment --levels 0`; its residual is a bound, ‖A‖ ≤ 2 times the reported one.",
            )
        )
    found.append(
        Group(
            "full-hierarchical",
            "Full resolution, τ = 1.25, k = 10, hierarchical",
            "Whole process, all threads; the "
            "residual is the largest that the report names, the cost ratio is over the route with two decimations.",
        )
    )
    found.append(
        Group(
            "growth",
            "Growth at full resolution",
            "τ = 2, k = 10, multiway, all threads, stages without reading and writing.",
        )
    )
    return found


@dataclass
class Row:
    """A contestant in a group on a case."""

    case: str
    group: str
    name: str
    once: object
    after: object = None
    threads: int = 1
    runs: list = field(default_factory=list)
    facts: dict = field(default_factory=dict)
    over: float | None = None
    failed: str | None = None

    @property
    def is_over(self):
        return self.over is not None or self.failed is not None

    @property
    def has_begun(self):
        return self.is_over or bool(self.runs)

    def run(self, machine, budget):
        """One more run, unless it failed before or has had its share of time."""
        if self.is_over or sum(run["seconds"] for run in self.runs) > budget:
            return False
        try:
            found = self.once()
            if found is None:
                self.over = machine.cap
            else:
                self.runs.append(found)
                if len(self.runs) == 1 and self.after:
                    self.facts.update(self.after() or {})
        except Exception as error:  # a contestant that fails is a row with the reason
            text = str(error) if isinstance(error, Failure) else repr(error)
            self.failed = "not installed" if "ModuleNotFoundError" in text else f"failed: {text}"
        last = f"{self.runs[-1]['seconds']:.3f} s" if self.runs else self.failed or "over the limit"
        say(f"{self.case} · {self.group} · {self.name}: {last}")
        return True

    def result(self, clock="wall"):
        """The row as data. With `clock` "cpu", rows of one thread are told by processor time, except end to end."""
        found = {"case": self.case, "group": self.group, "name": self.name, "runs": len(self.runs), **self.facts}
        # A run that failed to be judged is still a time; one that was stopped later is still reported as stopped.
        if self.over is not None and not self.runs:
            found["over"] = self.over
        if self.failed:
            found["failed"] = self.failed
        if self.runs:
            by_cpu = clock == "cpu" and self.threads == 1 and self.group not in CUTS
            times = [run["cpu" if by_cpu else "seconds"] for run in self.runs]
            found["seconds"] = statistics.median(times)
            found["all_seconds"] = times
            found["spread"] = (max(times) - min(times)) / found["seconds"] if len(times) > 1 else None
            found["wall_seconds"] = [run["seconds"] for run in self.runs]
            found["cpu_seconds"] = [run["cpu"] for run in self.runs]
            found["peak_mb"] = max(run["peak_mb"] for run in self.runs)
        return found


def compare_eigenvalues(results):
    """Fills `eigen`: the distance from the row of the same problem with the smallest residual."""
    with_values = [row for row in results if row.get("eigenvalues")]
    for row in with_values:
        peers = [
            r for r in with_values if (r["case"], r["group"], r["loops"]) == (row["case"], row["group"], row["loops"])
        ]
        best = min(peers, key=lambda r: r["residual"])["eigenvalues"]
        row["eigen"] = max(abs(a - b) / max(abs(b), 1e-300) for a, b in zip(row["eigenvalues"], best))


def add_to(earlier, results):
    """The rows of an earlier run that nothing was measured for anew, each with the run that it is of, before those of this one."""
    if not earlier:
        return results
    anew = {(row["case"], row["group"]) for row in results}
    left = [row for row in earlier["rows"] if (row["case"], row["group"]) not in anew]
    run = {key: earlier[key] for key in ("date", "commit", "cap")}
    run |= {key: earlier["noise"][key] for key in ("spread", "worst")}
    return [{"run": run, **row} for row in left] + results


def earlier_runs(rows):
    """The runs that rows were kept from, each with its groups."""
    found = []
    for row in rows:
        if "run" in row:
            of_it = next((groups for run, groups in found if run == row["run"]), None)
            if of_it is None:
                found.append((row["run"], of_it := []))
            of_it.extend({row["group"]} - set(of_it))
    return found
