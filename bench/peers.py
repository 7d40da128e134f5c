#!/usr/bin/env python3
"""Times ccbcut beside what one would use instead, on the same matrices, in one run.

    python3 bench/peers.py --quick               minutes: one image, one run each, the main peers
    python3 bench/peers.py                       the table of the README
    python3 bench/peers.py --full                also full resolution; hours

Needs Python 3.10 and, the first time, a package index: everything else goes into bench/.venv. BSDS500_DIR names the
Berkeley benchmark; without it, and without --images, a scene is drawn. See bench/README.md.
"""

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from peer import contest, in_python, machine, plan, promises, table, targets  # noqa: E402
from peer.machine import BENCH, Failure, Machine, say  # noqa: E402

TRAIN = ["118035", "12003"]
GROWTH = [(321, 481), (642, 962), (1284, 1924), (2842, 4258)]


def parse(words=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="one image, one width, one run each, the main peers")
    parser.add_argument("--full", action="store_true", help="also full resolution and growth; takes hours")
    parser.add_argument("--images", nargs="+", metavar="FILE", help="images instead of train 118035 and 12003")
    parser.add_argument("--sigmas", metavar="S,S", help="widths of the kernel for the matrices [default: 5,14.142]")
    parser.add_argument(
        "--only", metavar="GROUP,…", help="only these groups: " + ", ".join(g.key for g in contest.groups())
    )
    parser.add_argument("--repeats", type=int, metavar="N", help="runs of each row [default: 3, quick: 1]")
    parser.add_argument(
        "--budget", type=float, default=30, metavar="S", help="no further run of a row after so many seconds"
    )
    parser.add_argument(
        "--cap", type=float, metavar="S", help="stop a run after so many seconds [default: 120, full: 900]"
    )
    parser.add_argument(
        "--clock",
        choices=["wall", "cpu"],
        default="wall",
        help="judge rows of one thread by processor time: for a machine that is not quiet",
    )
    parser.add_argument("--val", type=int, default=20, metavar="N", help="images of the full-resolution promise")
    parser.add_argument("--megapixels", type=float, default=12.2, metavar="N", help="largest image of the growth")
    parser.add_argument("--ccbcut", metavar="PATH", help="the command to time, instead of building it")
    parser.add_argument("--python", metavar="PATH", help="an interpreter that has the packages, instead of bench/.venv")
    parser.add_argument("--ncut-pytorch", action="store_true", help="install ncut-pytorch (and torch) as well")
    parser.add_argument("--work", metavar="DIR", help="keep the matrices here, instead of a temporary folder")
    parser.add_argument("--markdown", default=str(BENCH / "results.md"), metavar="FILE", help="where the page goes")
    parser.add_argument("--json", metavar="FILE", help="where the data goes")
    parser.add_argument(
        "--add-to", metavar="FILE", help="the data of an earlier run: its rows stay on the page, but for what is measured again"
    )
    parser.add_argument(
        "--readme", metavar="FILE", help="put the Python table between the lines <!-- peers --> and <!-- /peers --> of FILE"
    )
    parser.add_argument("--self-test", action="store_true", help="test tables and verdicts; needs no package")
    options = parser.parse_args(words)
    options.repeats = options.repeats or (1 if options.quick else 3)
    options.cap = options.cap or (900 if options.full else 120)
    options.sigmas = [float(s) for s in (options.sigmas or ("5" if options.quick else "5,14.142")).split(",")]
    known = [g.key for g in contest.groups()]
    options.only = options.only.split(",") if options.only else known
    unknown = [key for key in options.only if key not in known]
    if unknown:
        parser.error(f"no such group: {', '.join(unknown)}")
    return options


def find_images(options, box):
    """Name and PNG of each image: decoded once, so that everybody sees the same pixels."""
    sources = [Path(p) for p in options.images or []]
    data = os.environ.get("BSDS500_DIR")
    if not sources and data:
        sources = [Path(data) / "images" / "train" / f"{name}.jpg" for name in TRAIN]
    if not sources:
        say("neither --images nor BSDS500_DIR: a scene is drawn")
        sources = [None]
    found = []
    for source in sources[: 1 if options.quick else None]:
        name = source.stem if source else "drawn scene"
        out = box.folder / f"{name.replace(' ', '-')}.png"
        facts, _ = box.task("picture", source=source, out=out)
        found.append((name, out, facts))
    return found


def take_turns(box, rows, options, results, keep):
    """Runs the rows of a case round by round, the calibration loop between them, and keeps what there is."""
    try:
        for turn in range(options.repeats):
            n_run = 0
            for row in rows:
                if row.run(box, options.budget):
                    n_run += 1
                    if n_run % 5 == 1:
                        box.calibrate()
            if n_run == 0:
                break
            say(f"round {turn + 1} of {options.repeats} done")
    finally:
        results.extend(row.result(options.clock) for row in rows if row.has_begun)
        keep()


def wanted(rows, options):
    return [row for row in rows if row.group in options.only]


def measure(box, options, results, checks, keep):
    """All cases, one after the other."""
    images = find_images(options, box)
    asked = set(options.only)
    for name, image, _ in images:
        for sigma in options.sigmas:
            case = plan.Case(box, name, image, sigma)
            coarse = any(key.startswith(("tau2", "warm", "cluster", "python")) for key in asked)
            try:
                rows = []
                if coarse:
                    case.prepare(with_warm=bool(asked & {"warm-k1", "warm-k28"}))
                    rows += [*case.eigen_rows(options.quick), *case.cluster_rows(options.quick)]
                if asked & {"python", "rag"}:
                    rows += in_python.rows(case)
                rows += case.graph_rows()
                if sigma == plan.DEFAULT_SIGMA and asked & {*contest.CUTS, "context"}:
                    rows += case.segment_rows(options.quick)
                if options.full and asked & {"full-k1", "full-k28"}:
                    rows += case.full_rows()
                take_turns(box, wanted(rows, options), options, results, keep)
            except Failure as error:
                checks.append(f"{case.name}: given up: {error}")
                say(checks[-1])
            checks.extend(case.checks)
    if options.full:
        full_promises(box, options, images, results, keep)


def full_promises(box, options, images, results, keep):
    """What has no peer: the reweighted cut at full resolution, and growth."""
    name, image, _ = images[0]
    if "full-hierarchical" in options.only:
        data = os.environ.get("BSDS500_DIR")
        val = sorted((Path(data) / "images" / "val").glob("*.jpg"))[: options.val] if data else []
        pictures = [(path.stem, path) for path in val] or [(name, image)]
        for stem, path in pictures:
            row = promises.full_hierarchical(box, f"val {stem}" if val else stem, path)
            row.run(box, options.budget)
            box.calibrate()
            results.append(row.result(options.clock))
            keep()
    if "growth" in options.only:
        rows = list(promises.growth(box, name, image, [s for s in GROWTH if s[0] * s[1] <= 1e6 * options.megapixels]))
        for row in rows:
            row.run(box, options.budget)
        results.extend(row.result(options.clock) for row in rows)
        keep()


def page(box, options, versions, results, checks, earlier=None):
    """The facts, the Markdown page and the JSON of what has been measured so far, added to an earlier run if there is one."""
    contest.compare_eigenvalues(results)
    results = contest.add_to(earlier, results)
    cases = list(dict.fromkeys(row["case"] for row in results))
    facts = {
        "date": time.strftime("%Y-%m-%d"),
        "commit": machine.commit(),
        "machine": machine.describe(),
        "versions": versions,
        "noise": box.noise(),
        "cap": options.cap,
        "clock": options.clock,
        "repeats": options.repeats,
        "cases": cases,
        "verdicts": targets.verdicts(results),
        "checks": [*(line for line in (earlier or {}).get("checks", []) if line not in checks), *checks],
    }
    return table.report(facts, contest.groups(), results), {**facts, "rows": results}


def interrupt(*_):
    raise KeyboardInterrupt


def main():
    options = parse()
    signal.signal(signal.SIGTERM, interrupt)
    if options.self_test:
        from peer import self_test

        return self_test.run()
    try:
        if options.readme:
            machine.replace_block(options.readme, None)  # a file without its place is refused before the work
        return compare(options)
    except (Failure, OSError, subprocess.CalledProcessError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2


def compare(options):
    """Sets everything up, measures, writes the page and prints it."""
    earlier = machine.read_earlier(options.add_to) if options.add_to else None
    python = Path(options.python).absolute() if options.python else machine.prepare_environment(options.ncut_pytorch)
    if not options.python and {"python", "rag"} & set(options.only):
        machine.install_package(python)
    ccbcut = Path(options.ccbcut).absolute() if options.ccbcut else machine.build()
    with ExitStack() as stack:
        folder = options.work or stack.enter_context(tempfile.TemporaryDirectory(prefix="ccbcut-peers-"))
        folder = Path(folder).absolute()
        folder.mkdir(parents=True, exist_ok=True)
        # A copy: a build that goes on elsewhere must not swap the command under the clock.
        box = Machine(python, Path(shutil.copy2(ccbcut, folder / "ccbcut")), folder, options.cap)
        versions, _ = box.task("versions")
        version = machine.run([box.ccbcut, "--version"], 1, 30)
        versions = {"ccbcut": version.out.strip().removeprefix("ccbcut ") or "unknown", **versions}
        results, checks = [], []
        box.calibrate()

        def keep():
            # Written after every case, so that an interrupted night is not lost; always whole.
            text, data = page(box, options, versions, results, checks, earlier)
            machine.write_whole(options.markdown, text)
            if options.json:
                machine.write_whole(options.json, json.dumps(data, indent=1, ensure_ascii=False) + "\n")
            return text

        status = 0
        try:
            measure(box, options, results, checks, keep)
        except KeyboardInterrupt:
            say("interrupted; what was measured so far is kept")
            status = 130
        print(keep())
        if options.readme and results:
            facts = page(box, options, versions, results, checks)[1]
            machine.replace_block(options.readme, table.readme(facts, results))
    return status


if __name__ == "__main__":
    sys.exit(main())
