"""Tests of the parts that need no package: arguments, verdicts, tables, children."""

import json
import sys
import tempfile
import unittest
from pathlib import Path

from . import contest, machine, plan, table, targets
from .targets import OURS, Target


def row(name, group="g", case="c", **facts):
    return {"case": case, "group": group, "name": name, "runs": 1, **facts}


class Verdicts(unittest.TestCase):
    ratio = Target("r", "g", 10, "peer")

    def verdict(self, rows, target=None):
        return targets.judge(target or self.ratio, rows)["verdict"]

    def test_the_worst_case_decides(self):
        good = [row(OURS, seconds=1.0), row("peer", seconds=12.0)]
        bad = [row(OURS, case="d", seconds=1.0), row("peer", case="d", seconds=9.0)]
        self.assertEqual(self.verdict(good), targets.MET)
        self.assertEqual(self.verdict(good + bad), targets.MISSED)

    def test_a_stopped_peer_is_a_lower_bound(self):
        self.assertEqual(self.verdict([row(OURS, seconds=1.0), row("peer", over=120.0)]), targets.MET)
        self.assertEqual(self.verdict([row(OURS, seconds=30.0), row("peer", over=120.0)]), "not decided")

    def test_what_did_not_run_is_not_met(self):
        self.assertEqual(self.verdict([]), targets.NOT_RUN)
        self.assertEqual(self.verdict([row(OURS, seconds=1.0), row("peer", failed="failed: no")]), targets.NOT_RUN)
        self.assertEqual(self.verdict([row(OURS, over=120.0), row("peer", seconds=1.0)]), targets.MISSED)

    def test_limits(self):
        limit = Target("t", "g", 0.6)
        self.assertEqual(self.verdict([row(OURS, seconds=0.6)], limit), targets.MET)
        self.assertEqual(self.verdict([row(OURS, seconds=0.61)], limit), targets.MISSED)
        self.assertEqual(self.verdict([row(OURS, over=120.0)], limit), targets.MISSED)

    def test_every_target_has_a_group_and_every_peer_a_row(self):
        groups = {group.key for group in contest.groups()}
        named = {
            *plan.TAU2,
            *plan.WARM,
            targets.PLAIN,
            targets.EXPERT,
            targets.ONE_THREAD,
            "SciPy, kept columns only",
            None,
        }
        for target in targets.TARGETS:
            self.assertIn(target.group, groups)
            self.assertIn(target.peer, named)


class Tables(unittest.TestCase):
    def test_numbers(self):
        shown = [table.number(v) for v in (None, 0.0, 1.0, 0.0123456, 123456.0, 1e-9, 2.5e7)]
        self.assertEqual(shown, ["–", "0.0", "1.00", "0.0123", "123456", "1.00e-09", "2.50e+07"])

    def test_rows_with_nothing_but_a_reason(self):
        rows = [row(OURS, seconds=2.0, residual=1e-9, peak_mb=10.0), row("a|b", failed="not installed", runs=0)]
        text = table.group_table("T", "note", [*rows, row("slow", over=120.0, runs=0)])
        self.assertIn("| a\\|b | not installed |", text)
        self.assertIn("| slow | > 120 s |", text)
        self.assertIn("> 60.0×", text)
        self.assertEqual(len({line.count("|") - line.count("\\|") for line in text.splitlines() if line[:1] == "|"}), 1)

    def test_eigenvalues_are_compared_with_the_best_row(self):
        rows = [
            row("a", eigenvalues=[1.0, 2.0], residual=1e-12, loops=True),
            row("b", eigenvalues=[1.0, 2.2], residual=1e-6, loops=True),
            row("other problem", eigenvalues=[5.0, 6.0], residual=1e-6, loops=False),
        ]
        contest.compare_eigenvalues(rows)
        self.assertEqual([round(r["eigen"], 12) for r in rows], [0.0, 0.1, 0.0])

    def test_rows_of_earlier_runs_stay_unless_measured_anew(self):
        noise = {"spread": 0.02, "worst": 1.1}
        first = {
            "date": "d1",
            "commit": "c1",
            "cap": 9,
            "noise": noise,
            "rows": [row("a", "g"), row("a", "h"), row("a", "i")],
        }
        rows = contest.add_to(first, [row("b", "g")])
        self.assertEqual(
            [(r["name"], r["group"], "run" in r) for r in rows], [("a", "h", True), ("a", "i", True), ("b", "g", False)]
        )
        second = {**first, "commit": "c2", "rows": rows}
        rows = contest.add_to(second, [row("c", "i", case="another")])
        runs = [(run["commit"], keys) for run, keys in contest.earlier_runs(rows)]
        self.assertEqual(runs, [("c1", ["h", "i"]), ("c2", ["g"])])
        line = table.earlier_line(rows[0]["run"], ["tau2-k1"], contest.groups())
        self.assertIn("commit c1", line)
        self.assertTrue(line.endswith(": Coarse graph, τ = 2, k = 1."), line)
        self.assertEqual(contest.add_to(None, rows), rows)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "results.json"
            for bad in ([], 3, {"date": 1}, {**first, "noise": {}}, {**first, "noise": 1}, None):
                path.write_text("no" if bad is None else json.dumps(bad))
                self.assertRaises(machine.Failure, machine.read_earlier, path)
            path.write_text(json.dumps(first))
            self.assertEqual(machine.read_earlier(path), first)

    def test_the_block_of_the_readme(self):
        rows = [
            row(OURS, "python", seconds=0.5, residual=7e-9, ncut=0.0116, ccn=0.59, n_segments=8, peak_mb=285.4),
            row("ncut-pytorch, all vertices", "python", failed="not installed", runs=0),
            row("scikit-image", "rag", seconds=1.3, ncut=0.1, ccn=0.05, n_segments=63, peak_mb=105.0),
            row(OURS, "rag", case="another", seconds=9.0),
        ]
        noise = {"spread": 0.01, "loop_seconds": 0.1, "loop_runs": 3, "worst": 1.0, "load": [0, 1]}
        facts = {"cases": ["c", "another"], "versions": {"pyamg": "5"}, "clock": "wall", "repeats": 3, "noise": noise}
        facts |= {"commit": "abc", "date": "today", "machine": {"cpu": "fast"}}
        text = table.readme(facts, rows)
        self.assertIn("| `CCBCut(tau=2)` | 0.500 s | 7.0e-09 | 0.012 | 0.59 | 8 | 285 |", text)
        self.assertIn("| ncut-pytorch, all vertices | not installed | – | – | – | – | – |", text)
        self.assertNotIn("9.00", text)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "README.md"
            path.write_text("before\n<!-- peers -->\nold\n<!-- /peers -->\nafter\n")
            machine.replace_block(path, "new")
            machine.replace_block(path, None)
            self.assertEqual(path.read_text(), "before\n<!-- peers -->\nnew\n<!-- /peers -->\nafter\n")
            path.write_text("no marks")
            self.assertRaises(machine.Failure, machine.replace_block, path, None)


class Children(unittest.TestCase):
    def test_a_child_is_measured_and_a_slow_one_stopped(self):
        child = machine.run([sys.executable, "-c", "print('x'); x = bytearray(50 << 20)"], 1, 30)
        self.assertEqual((child.code, child.out, child.timed_out), (0, "x\n", False))
        self.assertGreater(child.peak_mb, 50)
        slow = machine.run([sys.executable, "-c", "import time; time.sleep(60)"], 1, 0.3)
        self.assertTrue(slow.timed_out and slow.wall < 20)

    def test_reasons(self):
        ours = machine.Child(2, 0, 0, 0, "", "error: cutting\n  caused by: no\nhint: try\n", False)
        self.assertEqual(ours.reason(), "no")
        self.assertEqual(machine.Child(1, 0, 0, 0, "", "Traceback\nValueError: x\n", False).reason(), "ValueError: x")

    def test_a_failing_row_is_a_row(self):
        def broken():
            raise machine.Failure("ModuleNotFoundError: no")

        class Box:
            cap = 5

        rows = [
            contest.Row("c", "g", "a", broken),
            contest.Row("c", "g", "b", lambda: None),
            contest.Row("c", "g", "c", lambda: 1 / 0),
        ]
        self.assertEqual([r.run(Box, 1) for r in rows], [True, True, True])
        self.assertIn("ZeroDivisionError", rows[2].result()["failed"])
        self.assertEqual(rows[0].result()["failed"], "not installed")
        self.assertEqual(rows[1].result()["over"], 5)
        self.assertFalse(rows[0].run(Box, 1))

    def test_files_come_whole(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "a" / "b.md"
            machine.write_whole(path, "text")
            self.assertEqual([p.name for p in path.parent.iterdir()], ["b.md"])


def run():
    """Runs the tests; 0 when all pass."""
    suite = unittest.defaultTestLoader.loadTestsFromModule(sys.modules[__name__])
    return 0 if unittest.TextTestRunner().run(suite).wasSuccessful() else 1
