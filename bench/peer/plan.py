"""The rows of a case, an image and a width of the kernel: how each is run, and how its outcome is judged."""

from pathlib import Path

from .contest import CUTS, Row
from .machine import Failure
from .targets import EXPERT, ONE_THREAD, OURS, PLAIN

DEFAULT_SIGMA = 5.0
# How the twin compares pixels, whatever the defaults of the command are; and the accuracy of everybody.
PAPER = ["--smooth", 0, "--min-share", 0, "--rejoin", 0]
ACCURACY = ["--eigen-tol", 1e-6]
TAU2 = [
    "eigsh LA",
    "eigsh SA",
    "eigsh shift-invert",
    "lobpcg",
    "lobpcg + pyamg",
    "banded Cholesky + eigsh",
    "spectral_embedding arpack",
    "spectral_embedding lobpcg",
    "spectral_embedding amg",
]
WARM = ["eigsh shift-invert", "banded Cholesky + eigsh", "lobpcg + pyamg"]
QUICK = {"eigsh LA", "eigsh shift-invert", "banded Cholesky + eigsh", "SpectralClustering arpack"}
# The sweep whose eigenproblem is timed, by number of columns: early and hard for one, late for many.
SWEEP = {1: 3, 28: 6}


class Case:
    """An image and a width of the kernel: its files, and the rows that are run on them."""

    def __init__(self, machine, name, image, sigma):
        self.machine, self.image, self.sigma = machine, Path(image), sigma
        self.name = f"{name}, σ = {sigma:g}"
        self.folder = machine.folder / f"{name}-{sigma:g}"
        self.folder.mkdir(exist_ok=True)
        self.checks, self.shape, self.warm = [], None, {}

    def file(self, name):
        return self.folder / name

    def prepare(self, with_warm=True):
        """Writes the coarse graph and its reweighted versions, and compares the twin's graph with ours."""
        m = self.machine
        made, _ = m.task(
            "graph", image=self.image, sigma=self.sigma, out=self.file("coarse.npz"), pi=self.file("pi.npy")
        )
        self.shape = made["shape"]
        try:
            self.compare(made)
        except Failure as error:
            self.checks.append(f"{self.name}: ours failed on this image: {error}")
        for k, wanted in SWEEP.items() if with_warm else ():
            try:
                self.prepare_warm(k, wanted)
            except (Failure, KeyError, IndexError) as error:
                self.checks.append(f"{self.name}: no reweighted problem for k = {k}: {error}")

    def compare(self, made):
        """Our coarse graph is not written anywhere, but its size and its eigenvalues are known."""
        words = ["--method", "multiway", "--tau", 2, "-k", 2, "--columns", 28, "--n-init", 1, "--sigma", self.sigma]
        words += [*PAPER, "--levels", 2]
        walk, _ = self.machine.ours("segment", self.image, *words, "-o", self.file("check.npy"), "--force")
        embed = ["embed", self.file("coarse.npz"), "-c", 28, "--tau", 2, "-o", self.file("check.npy"), "--force"]
        report, _ = self.machine.ours(*embed)
        if walk is None or report is None:
            raise Failure("out of time")
        pairs = zip(walk["trace"][0]["eigenvalues"], report["trace"][0]["eigenvalues"])
        apart = max(abs(a - b) / max(abs(b), 1e-12) for a, b in pairs)
        self.checks.append(
            f"{self.name}: coarse graph of {walk['coarse_n']} vertices and {walk['coarse_edges']} edges, SciPy's twin has "
            f"{made['n']} and {made['edges']}; the 28 eigenvalues of the two differ by {apart:.1e} relative at most"
        )

    def prepare_warm(self, k, wanted):
        m, y = self.machine, self.file(f"previous-{k}.npy")
        embed = ["embed", self.file("coarse.npz"), "-c", k, "--tau", 1, "-o", y, "--force", *ACCURACY, "--max-iterations"]
        report, _ = m.ours(*embed, wanted)
        sweep = len(report["trace"]) if report else 0
        if sweep < 2:
            raise Failure("there is no second sweep in time")
        report, _ = m.ours(*embed, sweep - 1)
        files = {"out": self.file(f"warm-{k}.npz"), "warm": self.file(f"start-{k}.npy")}
        epsilon = report["trace"][-1]["epsilon"]
        m.task(
            "reweight",
            graph=self.file("coarse.npz"),
            pi=self.file("pi.npy"),
            embedding=y,
            tau=1,
            epsilon=epsilon,
            **files,
        )
        self.warm[k] = sweep
        self.checks.append(
            f"{self.name}: the reweighted problem of k = {k} is that of sweep {sweep}, ε = {epsilon:.2e}"
        )

    def judged(self, vectors, graph, **more):
        return {"graph": self.file(graph), "vectors": self.file(vectors), **more}

    def timed(self, report, child, stages):
        """Seconds of some stages of our report; nothing when the command ran out of time."""
        if report is None:
            return None
        ms = [stage["ms"] for stage in report["stages"] if stage["name"] in stages]
        if not ms:
            raise Failure(f"the report has none of the stages {stages}")
        return self.share(sum(ms) / 1e3, child)

    def share(self, seconds, child):
        """A part of a run; its processor time is the same share of the process's."""
        return {"seconds": seconds, "cpu": seconds * child.cpu / child.wall, "peak_mb": child.peak_mb}

    def by_worker(self, do, threads=1, **task):
        """A task of the worker as a run, under the time limit and some seconds for its start."""
        found, child = self.machine.task(do, threads=threads, timeout=self.machine.cap + 15, **task)
        if found is None:
            return None
        return {"seconds": found["seconds"], "cpu": found["cpu"], "peak_mb": child.peak_mb, **found}

    def cost(self, graph, labels, tau):
        """The discrete cost of labels, by the same command for everybody."""
        report, _ = self.machine.ours("cost", graph, labels, "--tau", tau)
        return {"cost": report["costs"]["ccn"], "n_segments": report["n_segments"]}

    def eigen_rows(self, quick):
        """Coarse eigenproblems: ours and the peers."""
        for k in SWEEP:
            yield self.our_embedding(k)
            for solver in TAU2:
                if not quick or solver in QUICK:
                    yield self.peer_row(f"tau2-k{k}", solver, k, "coarse.npz")
        for k, sweep in self.warm.items():
            yield self.our_sweep(k, sweep)
            for solver in WARM:
                if not quick or solver in QUICK:
                    yield self.peer_row(f"warm-k{k}", solver, k, f"warm-{k}.npz", warm=self.file(f"start-{k}.npy"))

    def embed_words(self, k, tau, out):
        """The command that embeds the coarse graph on one thread."""
        words = ["embed", self.file("coarse.npz"), "-c", k, "--tau", tau]
        return [*words, *ACCURACY, "--threads", 1, "-o", self.file(out), "--force"]

    def our_embedding(self, k):
        out, m = f"ours-{k}.npy", self.machine

        def once():
            words = self.embed_words(k, 2, out)
            return self.timed(*m.ours(*words, timeout=m.cap + 15), ["embedding"])

        def after():
            return self.vectors(out, "coarse.npz", is_embedding=True, pi=self.file("pi.npy"))

        return Row(self.name, f"tau2-k{k}", OURS, once, after)

    def our_sweep(self, k, sweep):
        out, m = f"ours-warm-{k}.npy", self.machine

        def once():
            words = self.embed_words(k, 1, out)
            report, child = m.ours(*words, "--max-iterations", sweep, timeout=m.cap + 60)
            if report is None:
                return None
            return self.share(report["trace"][sweep - 1]["ms"] / 1e3, child)

        def after():
            return self.vectors(out, f"warm-{k}.npz", is_embedding=True, pi=self.file("pi.npy"))

        return Row(self.name, f"warm-k{k}", OURS, once, after)

    def peer_row(self, group, solver, k, graph, **more):
        out = f"{group}-{solver.replace(' ', '_')}.npy"
        loops = not solver.startswith("spectral_embedding")
        pi = {"pi": self.file("pi.npy")} if loops else {}

        def once():
            task = {"solver": solver, "graph": self.file(graph), "k": k, "shape": self.shape, "out": self.file(out)}
            return self.by_worker("solve", **task, **pi, **more)

        return Row(self.name, group, solver, once, lambda: self.vectors(out, graph, loops=loops, **pi))

    def vectors(self, out, graph, **more):
        found, _ = self.machine.task("judge", **self.judged(out, graph, **more))
        return {"eigenvalues": found["eigenvalues"], "residual": found["residual"], "loops": more.get("loops", True)}

    def cluster_rows(self, quick):
        """Labels of the coarse graph."""
        m, graph = self.machine, self.file("coarse.npz")

        def once():
            words = ["cluster", graph, "-k", 28, "--method", "multiway", "--tau", 2, "--threads", 1]
            return self.timed(*m.ours(*words, "-o", self.file("parts.npy"), "--force", timeout=m.cap + 15), ["cut"])

        yield Row(self.name, "cluster", OURS, once, lambda: self.cost(graph, self.file("parts.npy"), 2))
        for solver in ("SpectralClustering arpack", "SpectralClustering amg"):
            if not quick or solver in QUICK:
                yield self.clustering(solver, graph)

    def clustering(self, solver, graph):
        out = self.file(f"{solver.replace(' ', '_')}.npy")

        def once():
            return self.by_worker("solve", solver=solver, graph=graph, k=28, out=out)

        return Row(self.name, "cluster", solver, once, lambda: self.cost(graph, out, 2))

    def graph_rows(self):
        m = self.machine

        def once():
            words = ["--method", "multiway", "--tau", 2, "-k", 2, "--columns", 1, "--n-init", 1, "--sigma", self.sigma]
            out = [*PAPER, "--levels", 2, "--threads", 1, "-o", self.file("graph.npy"), "--force"]
            return self.timed(*m.ours("segment", self.image, *words, *out, timeout=m.cap), ["affinity", "coarsen"])

        yield Row(self.name, "graph", OURS, once)
        for name, plain in (("SciPy, kept columns only", False), ("SciPy, whole matrix first", True)):
            yield Row(
                self.name,
                "graph",
                name,
                lambda plain=plain: self.by_worker("graph", image=self.image, sigma=self.sigma, plain=plain),
            )

    def segment_rows(self, quick):
        """End to end, at the default width of the kernel."""
        pixel = self.file("pixels.npz")
        self.machine.task("pixel_graph", image=self.image, sigma=self.sigma, out=pixel)
        for name, (method, tau) in CUTS.items():
            for label, threads, kernel in (
                (OURS, 2, "gaussian"),
                (ONE_THREAD, 1, "gaussian"),
                ("ccbcut, released kernel", 2, "released"),
            ):
                if kernel == "gaussian" or not quick:
                    yield self.our_segment(name, label, method, tau, threads, kernel, pixel)
            for label, how in ((PLAIN, "eigsh"), (EXPERT, "banded")):
                if not quick or name == "NCut-M" or how == "banded":
                    yield self.composed(name, label, method, tau, how, pixel)
        out = self.file("slic.npy")
        yield Row(
            self.name,
            "context",
            "scikit-image SLIC + cut_normalized",
            lambda: self.by_worker("slic", image=self.image, out=out),
            lambda: self.cost(pixel, out, 1),
        )

    def our_segment(self, group, label, method, tau, threads, kernel, pixel):
        m, out = self.machine, self.file(f"{group}-{threads}-{kernel}")

        def once():
            words = [
                "--method",
                method,
                "--tau",
                tau,
                "-k",
                25,
                "--kernel",
                kernel,
                "--sigma",
                self.sigma,
                *PAPER,
                "--levels",
                2,
                "--threads",
                threads,
                "-o",
                out,
                "--force",
            ]
            report, child = m.ours("segment", self.image, *words, threads=threads, timeout=m.cap)
            if report is None:
                return None
            return {"seconds": child.wall, "cpu": child.cpu, "peak_mb": child.peak_mb}

        def after():
            labels = out / f"{self.image.stem}-labels.png"
            other = self.file(f"{group}-{3 - threads}-{kernel}") / labels.name
            if other.exists():
                same = "the same bytes" if labels.read_bytes() == other.read_bytes() else "DIFFERENT labels"
                self.checks.append(f"{self.name}: {group} with one and two threads: {same}")
            return self.cost(pixel, labels, tau) if kernel == "gaussian" else {}

        return Row(self.name, group, label, once, after, threads)

    def composed(self, group, label, method, tau, how, pixel):
        out, best = self.file(f"{group}-{how}.npy"), []

        def once():
            task = {
                "image": self.image,
                "out": out,
                "k": 25,
                "method": method,
                "tau": tau,
                "sigma": self.sigma,
                "how": how,
            }
            # LAPACK's threads help with large blocks and hurt with small ones: the better setting counts.
            found = {blas: self.by_worker("compose", threads=2, blas=blas, **task) for blas in best or (2, 1)}
            finished = {blas: run for blas, run in found.items() if run}
            if not finished:
                return None
            best[:] = [min(finished, key=lambda blas: finished[blas]["seconds"])]
            return finished[best[0]]

        return Row(self.name, group, label, once, lambda: self.cost(pixel, out, tau), 2)

    def full_rows(self):
        """Eigenvectors of the whole pixel graph."""
        m, pixel = self.machine, self.file("pixels.npz")
        if not pixel.exists():
            m.task("pixel_graph", image=self.image, sigma=self.sigma, out=pixel)
        for k in SWEEP:
            yield self.our_full(k)
            yield self.full_peer(k, pixel)

    def full_peer(self, k, pixel):
        out = self.file(f"full-{k}.npy")

        def once():
            return self.by_worker("solve", solver="eigsh LA", graph=pixel, k=k, out=out)

        return Row(self.name, f"full-k{k}", "eigsh LA", once, lambda: self.vectors(out.name, "pixels.npz"))

    def our_full(self, k):
        m, seen = self.machine, {}

        def once():
            words = ["--method", "multiway", "--tau", 2, "-k", 2, "--columns", k, "--n-init", 1, "--sigma", self.sigma]
            out = [*PAPER, "--levels", 0, "--threads", 1, "-o", self.file("full.npy"), "--force"]
            report, child = m.ours("segment", self.image, *words, *out, timeout=m.cap)
            if report is not None:
                seen.update(residual=2 * report["trace"][0]["residual"], eigenvalues=report["trace"][0]["eigenvalues"])
            return self.timed(report, child, ["embedding"])

        return Row(self.name, f"full-k{k}", OURS, once, lambda: {**seen, "loops": True})
