"""Keyword arguments into the dictionaries that the extension reads; the library checks their values."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from ccbcut._arrays import as_pixels, count, number, to_array

#: What the functions take beside their own arguments.
CUT_DEFAULTS: dict[str, Any] = {
    "balance": "normalized",
    "variant": "published",
    "kappa": None,
    "kappa_count": None,
    "epsilon_floor": 10.0,
    "max_iterations": 50,
    "tol": 0.01,
    "eigen_tol": None,
    "early_stop": False,
    "contract": False,
    "rotate": False,
    "seed": 0,
    "threads": 0,
}
PART_DEFAULTS: dict[str, Any] = {
    "rounding": None,
    "columns": None,
    "n_init": 10,
    "seed_rows": 8000,
    "min_share": None,
    "rejoin": None,
    "solver": "irrq",
    "refine": False,
    "criterion": None,
    "starts": None,
}
IMAGE_DEFAULTS: dict[str, Any] = {
    "affinity": None,
    "kernel": "gaussian",
    "sigma": 3.0,
    "scale": 1.0,
    "beta": 90.0,
    "smooth": None,
    "radius": 10.0,
    "contours": None,
    "contour_weight": "sigmoid",
    "contour_sigma": 0.1,
    "pmi_pairs": 5000,
    "pmi_bandwidth": 0.05,
    "levels": None,
    "upsampling": None,
    "connected": False,
}
_COUNTS = {
    "max_iterations", "seed", "threads", "n_init", "seed_rows", "levels", "rejoin", "kappa_count", "columns", "starts",
    "pmi_pairs", "supervoxels",
}  # fmt: skip
_NAMES = {
    "variant", "rounding", "solver", "criterion", "kernel", "contour_weight", "upsampling", "metric", "cosine_weight",
    "neighbors",
}  # fmt: skip
_FLAGS = {"early_stop", "contract", "rotate", "refine", "connected"}
_ELSEWHERE = {"balance", "affinity", "contours", "pmi_bandwidth", "bandwidth", "region_features"}


def take(given: dict[str, Any], defaults: dict[str, Any]) -> dict[str, Any]:
    """Removes the options of one table from what was given, and fills in the others."""
    return {name: _typed(name, given.pop(name, default)) for name, default in defaults.items()}


def nothing_left(function: str, given: dict[str, Any]) -> None:
    """Refuses options that nobody took, as Python does."""
    for name in given:
        raise TypeError(f"{function}() got an unexpected keyword argument '{name}'")


def _typed(name: str, value: Any) -> Any:
    if value is None or name in _ELSEWHERE:
        return value
    if name in _COUNTS:
        return count(name, value)
    if name in _NAMES:
        if not isinstance(value, str):
            raise TypeError(f"{name} is {value!r}, but it must be a string")
        return value
    return bool(value) if name in _FLAGS else number(name, value)


def cut_options(tau: Any, given: dict[str, Any]) -> dict[str, Any]:
    """Which cost is made small, and how far."""
    options = {"tau": number("tau", tau), **take(given, CUT_DEFAULTS)}
    if not isinstance(options["balance"], str):
        weights = to_array(options["balance"])
        if weights.ndim != 1 or weights.dtype == object:
            raise TypeError("balance must be 'normalized', 'ratio' or one weight per vertex")
        options["balance"] = np.ascontiguousarray(weights, dtype=np.float64)
    return options


def part_options(
    n_segments: Any,
    method: str,
    given: dict[str, Any],
    least_share: float = 0.0,
    rejoin: int = 0,
    *,
    may_choose: bool = False,
) -> dict[str, Any]:
    """Into how many parts (None where they are to be chosen), and how; `least_share` and `rejoin` are defaults."""
    if not isinstance(method, str):
        raise TypeError(f"method is {method!r}, but it must be a string")
    k_max = 12
    if may_choose:
        k_max = count("k_max", given.pop("k_max", k_max))
    if isinstance(n_segments, str) and may_choose:
        if n_segments != "auto":
            raise ValueError(f"n_segments is '{n_segments}', but it must be a number or 'auto'")
        asked = None
    else:
        asked = count("n_segments", n_segments)
    options = {"n_segments": asked, "k_max": k_max, "method": method, **take(given, PART_DEFAULTS)}
    if options["min_share"] is None:
        options["min_share"] = least_share
    if options["rejoin"] is None:
        options["rejoin"] = rejoin if options["solver"] == "irrq" else 0
    return options


def image_share(method: str, variant: str) -> float:
    """The least part of an image unless set otherwise, as the command has it."""
    return 0.002 if method == "hierarchical" and variant != "released" else 0.0


def image_rejoin(method: str, variant: str) -> int:
    """How many parts of an image are joined again unless set otherwise, as the command has it."""
    return 120 if method == "hierarchical" and variant != "released" else 0


def image_options(given: dict[str, Any], seed: int, threads: int) -> dict[str, Any]:
    """How an image becomes a graph."""
    options = take(given, IMAGE_DEFAULTS)
    contours = options["contours"]
    if contours is not None:
        pixels, _ = as_pixels(contours)
        if pixels.shape[2] != 1:
            raise ValueError(f"contours has {pixels.shape[2]} channels, but it must have one")
        options["contours"] = pixels[:, :, 0]
    if options["smooth"] is None:
        options["smooth"] = 0.0 if options["kernel"] == "released" else 1.0
    width = options["pmi_bandwidth"]
    options["pmi_bandwidth"] = None if width == "learned" else number("pmi_bandwidth", width)
    formula = options["affinity"] or ("lab" if contours is None else "mpb")
    factors = read_formula(formula)
    if contours is not None and "mpb" not in dict(factors):
        raise ValueError(f"contours are given, but affinity is '{formula}': use 'mpb', or a product with it")
    return {**options, "affinity": factors, "seed": seed, "threads": threads}


def read_formula(formula: Any) -> list[tuple[str, float]]:
    """The factors of ``lab``, ``mpb``, ``pmi`` or ``0.5lab+2mpb``, and their powers."""
    if not isinstance(formula, str):
        raise TypeError(f"affinity is {formula!r}, but it must be a string")
    factors: list[tuple[str, float]] = []
    for term in formula.split("+"):
        match = re.fullmatch(r"\s*(\d*\.?\d*)\s*([a-z]+)\s*", term.lower())
        if match is None or match[1] == "." or match[2] in dict(factors):
            raise ValueError(
                f"affinity is '{formula}', but it must be like 'lab', 'mpb', 'pmi' or '0.5lab+2mpb'"
            )
        factors.append((match[2], float(match[1] or 1.0)))
    return factors


def default_kappa(options: dict[str, Any], affinity: list[tuple[str, float]]) -> None:
    """Fills in κ̃ where none is given: the paper has one for colours and one for the others."""
    if options["kappa"] is None and options["kappa_count"] is None:
        options["kappa"] = 1e-4 if all(name == "lab" for name, _ in affinity) else 0.2
