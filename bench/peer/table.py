"""Results as Markdown. Standard library only."""

import math

from . import targets
from .contest import earlier_runs

CLOCKS = {
    "wall": "wall-clock seconds",
    "cpu": "processor seconds (wall-clock seconds end to end and with two threads)",
}


def number(value, digits=3):
    """Plain where that is readable, else with an exponent."""
    if value is None:
        return "–"
    if value == 0 or not math.isfinite(value):
        return str(value)
    if 1e-3 <= abs(value) < 1e6:
        return f"{value:.{max(0, digits - 1 - math.floor(math.log10(abs(value))))}f}"
    return f"{value:.{digits - 1}e}"


def seconds(row):
    if row.get("seconds") is not None:
        return f"{number(row['seconds'])} s"
    if row.get("over"):
        return f"> {row['over']:g} s"
    return row.get("failed") or "–"


def markdown(header, rows):
    lines = [" | ".join(header), " | ".join(["---"] * len(header)), *(" | ".join(row) for row in rows)]
    return "\n".join(f"| {line} |" for line in lines)


def escape(text):
    return str(text).replace("|", "\\|").replace("\n", " ")


def group_table(title, note, rows):
    """One problem: time, what came out, memory; ratios last."""
    ours = next((row for row in rows if row["name"] == targets.OURS), None)
    fields = [
        ("eigen", "λ off by"),
        ("residual", "residual"),
        ("cost", "cost"),
        ("ncut", "NCut"),
        ("ccn", "CCN₁"),
        ("n_segments", "parts"),
        ("peak_mb", "peak MB"),
    ]
    shown = [(key, label) for key, label in fields if any(row.get(key) is not None for row in rows)]
    header = ["", "time", "spread", "runs", *(label for _, label in shown), "time / ours"]
    body = []
    for row in rows:
        found = targets.ratio(row, ours) if row is not ours else None
        against = "" if row is ours else "–"
        if found:
            against = f"{'> ' if found[1] else ''}{number(found[0])}×"
        spread = row.get("spread")
        cells = [escape(row["name"]), escape(seconds(row)), "–" if spread is None else f"{100 * spread:.0f} %"]
        cells.append(str(row.get("runs", 0)))
        for key, _ in shown:
            value = row.get(key)
            cells.append(
                str(value)
                if isinstance(value, int)
                else f"{value:.0f}"
                if key == "peak_mb" and value
                else number(value)
            )
        body.append([*cells, against])
    return f"### {title}\n\n{note}\n\n{markdown(header, body)}\n"


def verdict_table(found):
    body = []
    for verdict in found:
        shown = []
        for figure in verdict["figures"].values():
            text = "over the limit" if figure["value"] is None else number(figure["value"])
            shown.append(f"> {text}" if figure["bound"] else text)
        body.append([escape(verdict["what"]), verdict["promise"], ", ".join(shown) or "–", verdict["verdict"]])
    return markdown(["what", "target", "measured, by case", "verdict"], body)


def noise_line(noise):
    spread = noise["spread"]
    word = "quiet" if spread < 0.05 else "uneasy" if spread < 0.2 else "noisy"
    advice = " Ratios taken on it prove little: take them again on a quiet one." if word == "noisy" else ""
    return (
        f"The machine was {word}: a fixed NumPy loop of {1e3 * noise['loop_seconds']:.0f} ms, run {noise['loop_runs']} times "
        f"between the rows, had a spread (interquartile range over median) of {100 * spread:.0f} % and a worst run "
        f"{noise['worst']:.1f} times the best; the load average went from {noise['load'][0]:.1f} to {noise['load'][1]:.1f}."
        + advice
    )


def earlier_line(run, keys, groups):
    """Which problems are of an earlier run, and how that one was."""
    titles = "; ".join(group.title for group in groups if group.key in keys)
    return (
        f"Kept from an earlier run ({run['date']}, commit {run['commit']}, a run over {run['cap']:g} s stopped; the NumPy loop "
        f"had a spread of {100 * run['spread']:.0f} % and a worst run {run['worst']:.1f} times the best): {titles}."
    )


def report(facts, groups, rows):
    """The whole page."""
    machine, versions = facts["machine"], facts["versions"]
    memory = f", {machine['memory_gib']:.0f} GiB" if machine["memory_gib"] else ""
    parts = [
        "# ccbcut and its peers\n",
        f"Written by `bench/peers.py` on {facts['date']}, commit {facts['commit']}. {machine['cpu']}, {machine['cores']} cores"
        f"{memory}, {machine['system']}. "
        + ", ".join(f"{name} {version}" for name, version in versions.items())
        + ".\n",
        noise_line(facts["noise"]) + "\n",
        f"Times are medians of {CLOCKS[facts['clock']]}, reading files excluded unless said otherwise; every run is a process of "
        "its own, pinned to as many cores as it has threads, and the rows of a problem take turns. *Spread* is the range "
        f"of the runs over their median. A run over {facts['cap']:g} s is stopped. *λ off by* is the largest relative "
        "distance of an eigenvalue from that of the row with the smallest residual; *residual* is the largest ‖Ax − λx‖ "
        "(over the largest dᵢ/πᵢ where the graph is reweighted), computed alike for everybody from the vectors that "
        "came out. *Cost* is what `ccbcut cost` says of the labels. "
        "*Peak MB* is the process's, interpreter and imports included.\n",
        *(earlier_line(run, keys, groups) + "\n" for run, keys in earlier_runs(rows)),
        "## Targets\n\nA target holds when it holds on every case: " + ", ".join(facts["cases"]) + ".\n",
        verdict_table(facts["verdicts"]) + "\n",
        "## Measurements\n",
    ]
    for group in groups:
        for case in facts["cases"]:
            mine = [row for row in rows if row["group"] == group.key and row["case"] == case]
            if mine:
                parts.append(group_table(f"{group.title} ({case})", group.note, mine))
    if facts.get("checks"):
        parts.append("## Checks\n\n" + "\n".join(f"- {escape(line)}" for line in facts["checks"]) + "\n")
    return "\n".join(parts)


def readme(facts, rows):
    """The rows of the Python package on the first case, for the README, and how they came about."""
    case = facts["cases"][0]
    mine = {key: [row for row in rows if (row["group"], row["case"]) == (key, case)] for key in ("python", "rag")}
    fields = [("residual", "residual"), ("ncut", "NCut"), ("ccn", "CCN, τ = 1"), ("n_segments", "parts")]
    names = {("python", targets.OURS): "`CCBCut(tau=2)`", ("python", f"{targets.OURS}, τ = 1"): "`CCBCut(tau=1)`"}
    names |= {("rag", targets.OURS): "`ccbcut.cut_normalized`", ("rag", "scikit-image"): "scikit-image `cut_normalized`"}
    body = []
    for key, found in mine.items():
        for row in found:
            peak = row.get("peak_mb")
            cells = [names.get((key, row["name"]), escape(row["name"])), escape(seconds(row))]
            for field, _ in fields:
                value = row.get(field)
                cells.append(str(value) if isinstance(value, int) else number(value, 2))
            body.append([*cells, "–" if peak is None else f"{peak:.0f}"])
    versions = facts["versions"]
    used = [f"{name} {versions[name]}" for name in ("scikit-learn", "scikit-image", "pyamg", "ncut-pytorch") if name in versions]
    clock = CLOCKS[facts["clock"]].split(" (")[0]
    runs = "one run" if facts["repeats"] == 1 else f"medians of up to {facts['repeats']} runs"
    intro = (
        f"{clock.capitalize()}, {runs} each, one thread, {case}, commit {facts['commit']}, {facts['date']}, {facts['machine']['cpu']}; "
        f"{', '.join(used)}. {noise_line(facts['noise'])}"
    )
    return f"{intro}\n\n{markdown(['', 'time', *(label for _, label in fields), 'peak MB'], body)}"
