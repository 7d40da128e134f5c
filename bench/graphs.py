#!/usr/bin/env python3
"""Accuracy and time of `ccbcut cluster` beside scikit-learn's SpectralClustering, on graphs made here.

    python3 bench/graphs.py                        sizes 1000 and 10000, three seeds
    python3 bench/graphs.py --sizes 1000 --seeds 1 a look
    python3 bench/graphs.py --families "ten equal parts" --sizes 10000,100000,1000000 --seeds 1 --threads 2 --cap 1800

Generators, seeds and the margin below were fixed before the first run: on graphs with parts of uneven sizes, tau = 1.5
must beat tau = 2 by 0.05 of the adjusted Rand index on average. A later kind has its own verdict. See README.md.
"""

import argparse
import json
import sys
import tempfile
from pathlib import Path
from statistics import mean

sys.path.insert(0, str(Path(__file__).resolve().parent))

from peer import machine  # noqa: E402
from peer.machine import BENCH, Failure, say  # noqa: E402

FAMILIES = ["planted 10:1", "LFR-like", "two moons", "blocks 1 component", "blocks 5 components", "blocks 20 components"]
GROWTH = "ten equal parts"
UNEVEN = ["planted 10:1", "LFR-like"]
LATER = ["two moons 10:1"]
MARGIN = 0.05
WORKER = BENCH / "peer" / "graph_worker.py"
OURS = {
    "tau 2, hierarchical": ["--tau", "2", "--method", "hierarchical"],
    "tau 1.5, hierarchical": ["--tau", "1.5", "--method", "hierarchical"],
    "tau 2, multiway": ["--tau", "2", "--method", "multiway"],
    "tau 1.5, multiway": ["--tau", "1.5", "--method", "multiway"],
}
PEER = "scikit-learn"


def parse(words=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", default="1000,10000", metavar="N,N", help="numbers of vertices")
    parser.add_argument("--seeds", type=int, default=3, metavar="N", help="graphs of each kind and size")
    parser.add_argument("--families", default=",".join(FAMILIES), metavar="F,F", help=f"kinds of graphs; also: {', '.join([GROWTH, *LATER])}")
    parser.add_argument("--cap", type=float, default=300, metavar="S", help="stop a run after so many seconds")
    parser.add_argument("--threads", type=int, default=1, metavar="N", help="threads of each run")
    parser.add_argument("--ccbcut", metavar="PATH", help="the command to time, instead of building it")
    parser.add_argument("--python", metavar="PATH", help="an interpreter that has the packages, instead of bench/.venv")
    parser.add_argument("--markdown", default=str(BENCH / "graphs.md"), metavar="FILE", help="where the page goes")
    parser.add_argument("--json", metavar="FILE", help="where the data goes")
    options = parser.parse_args(words)
    options.sizes = [int(n) for n in options.sizes.split(",")]
    options.families = [family.strip() for family in options.families.split(",")]
    known = [*FAMILIES, GROWTH, *LATER]
    if unknown := [family for family in options.families if family not in known]:
        parser.error(f"no kind of graph is called {unknown[0]!r}; there are {', '.join(known)}")
    return options


def child(options, command, **limits):
    ended = machine.run([str(word) for word in command], options.threads, limits.get("timeout", options.cap))
    if ended.timed_out:
        raise Failure(f"stopped after {ended.wall:.0f} s")
    if ended.code != 0:
        raise Failure(ended.reason())
    return ended


def one_graph(options, family, n, seed, folder):
    """Every method on one graph: a list of rows."""
    made = child(options, [options.python, WORKER, "make", family, n, seed, folder], timeout=3600)
    facts = json.loads(made.out)
    points = (folder / "points.npy").exists()
    source = [folder / "points.npy", "--points"] if points else [folder / "graph.npz"]
    rows = []
    for name in [*OURS, PEER]:
        row = {"family": family, "n": facts["n"], "edges": facts["edges"], "k": facts["k"], "seed": seed, "method": name}
        rows.append(row)
        labels = folder / ("labels-sklearn.npy" if name == PEER else "labels.npy")
        labels.unlink(missing_ok=True)
        try:
            if name == PEER:
                ended = child(options, [options.python, WORKER, "sklearn", folder, facts["k"], seed])
            else:
                line = ["cluster", *source, "-k", facts["k"], *OURS[name], "--seed", seed]
                ended = child(options, [options.ccbcut, *line, "--threads", options.threads, "-o", labels, "--json"])
            report = json.loads(ended.out)
            row["seconds"] = report["seconds"] if name == PEER else report["stages"][0]["ms"] / 1e3
            row.update(cpu=ended.cpu, wall=ended.wall, peak_mb=ended.peak_mb)
            scored = child(options, [options.python, WORKER, "score", folder / "truth.npy", labels], timeout=3600)
            row["ari"] = json.loads(scored.out)["ari"]
        except Failure as failure:
            row["failed"] = str(failure)
        say(f"{family}, n = {n}, seed {seed}, {name}: " + row.get("failed", f"ARI {row.get('ari', 0):.3f}"))
    return rows


def table(rows, families, sizes):
    lines = ["| graph | n | method | ARI | seconds | peak MB | failed |", "|---|---|---|---|---|---|---|"]
    for family in families:
        for n in sizes:
            for name in [*OURS, PEER]:
                mine = [r for r in rows if (r["family"], r["asked"], r["method"]) == (family, n, name)]
                good = [r for r in mine if "ari" in r]
                cells = ["–"] * 3
                if good:
                    cells = [
                        f"{mean(r['ari'] for r in good):.3f}",
                        f"{mean(r['seconds'] for r in good):.3g}",
                        f"{max(r['peak_mb'] for r in good):.0f}",
                    ]
                lines.append(f"| {family} | {n} | {name} | {' | '.join(cells)} | {len(mine) - len(good)} of {len(mine)} |")
    return "\n".join(lines)


def verdict(rows, way, families):
    """The mean gain of tau = 1.5 over tau = 2 on some kinds of graphs, where both ran."""
    ari = {(r["family"], r["asked"], r["seed"], r["method"]): r["ari"] for r in rows if "ari" in r}
    gains = [
        ari[family, n, seed, f"tau 1.5, {way}"] - value
        for (family, n, seed, name), value in ari.items()
        if family in families and name == f"tau 2, {way}" and (family, n, seed, f"tau 1.5, {way}") in ari
    ]
    if not gains:
        return f"- {way}: not measured"
    word = "met" if mean(gains) >= MARGIN else "**not met**"
    return f"- {way}: {mean(gains):+.3f} on {len(gains)} graphs; {MARGIN} was the aim: {word}"


def main():
    options = parse()
    options.python = options.python or machine.prepare_environment()
    options.ccbcut = options.ccbcut or machine.build()
    rows = []
    with tempfile.TemporaryDirectory() as work:
        for number, family in enumerate(options.families):
            for n in options.sizes:
                for seed in range(options.seeds):
                    folder = Path(work) / f"{number}-{n}-{seed}"
                    folder.mkdir()
                    found = one_graph(options, family, n, seed, folder)
                    rows += [{**row, "asked": n} for row in found]
    page = "\n".join(
        [
            "# Graphs made here",
            "",
            f"{options.seeds} seeds, {options.threads} thread(s). Seconds are those of the cut alone, means over the seeds.",
            "",
            table(rows, options.families, options.sizes),
            "",
            "tau = 1.5 against tau = 2 on graphs with parts of uneven sizes (adjusted Rand index):",
            "",
            *(verdict(rows, way, UNEVEN) for way in ("hierarchical", "multiway")),
            "",
            f"And on {', '.join(LATER)}, added after the others had been looked at:",
            "",
            *(verdict(rows, way, LATER) for way in ("hierarchical", "multiway")),
            "",
        ]
    )
    machine.write_whole(Path(options.markdown), page)
    if options.json:
        machine.write_whole(Path(options.json), json.dumps(rows, indent=1))
    print(page)


if __name__ == "__main__":
    main()
