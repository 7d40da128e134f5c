"""What must be together and what apart, as the extension reads it."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from typing import Any, Union

import numpy as np
import numpy.typing as npt

from ccbcut._arrays import VOID, as_pixels, count, to_array
from ccbcut._tree import renumbered

Pairs = npt.ArrayLike
Seeds = Union[Mapping[int, Hashable], Iterable[tuple[int, Hashable]]]

CONSTRAINT_DEFAULTS: dict[str, Any] = {"must_link": None, "cannot_link": None, "seeds": None}


def constraint_options(given: dict[str, Any], parts: dict[str, Any]) -> dict[str, Any]:
    """Takes the constraints from what was given; they are for hierarchical cuts without refinement."""
    found = {name: given.pop(name, default) for name, default in CONSTRAINT_DEFAULTS.items()}
    refuse_others([name for name, value in found.items() if value is not None], parts)
    return {
        "must_link": _pairs("must_link", found["must_link"]),
        "cannot_link": _pairs("cannot_link", found["cannot_link"]),
        "seeds": _named(found["seeds"]),
    }


def refuse_others(names: list[str], parts: dict[str, Any]) -> None:
    """Refuses cuts that keep to no constraints."""
    for name in names:
        if parts["method"] == "multiway":
            raise ValueError(f"{name} is given, but method is 'multiway': only 'hierarchical' keeps to it")
        if parts["refine"]:
            raise ValueError(f"{name} is given, but refine is True: refinement would not keep to it")


def _pairs(name: str, value: Any) -> npt.NDArray[np.uint32]:
    if value is None:
        return np.empty((0, 2), dtype=np.uint32)
    array = to_array(value if hasattr(value, "__array__") else list(value))
    if array.size == 0:
        return np.empty((0, 2), dtype=np.uint32)
    if array.ndim != 2 or array.shape[1] != 2:
        raise ValueError(f"{name} has the shape {array.shape}, but it must hold pairs of vertices: (n, 2)")
    if not np.issubdtype(array.dtype, np.integer):
        raise TypeError(f"{name} holds {array.dtype}, but it must hold integers")
    _check_vertices(name, array)
    return np.ascontiguousarray(array, dtype=np.uint32)


def _named(seeds: Any) -> npt.NDArray[np.uint32]:
    """Vertices and the numbers of their names, which are counted by first appearance."""
    if seeds is None:
        return np.empty((0, 2), dtype=np.uint32)
    numbers: dict[Any, int] = {}
    rows = []
    for pair in seeds.items() if isinstance(seeds, Mapping) else seeds:
        try:
            vertex, name = pair
        except (TypeError, ValueError):
            raise ValueError(f"seeds holds {pair!r}, but it must hold pairs of a vertex and a name") from None
        rows.append((count("a vertex of seeds", vertex), numbers.setdefault(name, len(numbers))))
    array = np.asarray(rows, dtype=np.int64).reshape(-1, 2)
    _check_vertices("seeds", array)
    return array.astype(np.uint32)


def _check_vertices(name: str, array: npt.NDArray[Any]) -> None:
    for bad in array[(array < 0) | (array >= int(VOID))][:1]:
        raise ValueError(f"{name} holds the vertex {int(bad)}, but vertices are numbered from 0")


def as_scribbles(scribbles: Any, shape: tuple[int, int]) -> npt.NDArray[np.uint32]:
    """A number for each pixel: 0 for none, names counted by first appearance, as the command counts them."""
    is_picture = hasattr(scribbles, "convert") and isinstance(getattr(scribbles, "mode", None), str)
    array = scribbles if is_picture else to_array(scribbles)
    raw = _colors(array) if is_picture or array.ndim == 3 else _whole(array)
    if raw.shape != shape:
        raise ValueError(f"scribbles has the shape {raw.shape}, but the image has {shape}")
    return np.ascontiguousarray(renumbered(raw) + 1, dtype=np.uint32)


def _whole(array: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    """The numbers of the strokes, -1 for none."""
    is_number = array.dtype == np.bool_ or np.issubdtype(array.dtype, np.integer)
    if not is_number and not np.issubdtype(array.dtype, np.floating):
        raise TypeError(
            f"scribbles holds {array.dtype}, but it must hold integers, or colours in three dimensions"
        )
    values = array.astype(np.int64)
    if not np.array_equal(values, array):
        raise TypeError(f"scribbles holds {array.dtype}, but strokes in two dimensions must be integers")
    return np.where(values > 0, values, -1)


def _colors(picture: Any) -> npt.NDArray[np.int64]:
    """A number for each colour but black, -1 for that and for transparent pixels."""
    pixels, alpha = as_pixels(picture)
    _, number = np.unique(pixels.reshape(-1, pixels.shape[2]), axis=0, return_inverse=True)
    drawn = pixels.any(2) if alpha is None else pixels.any(2) & alpha
    return np.where(drawn, number.reshape(drawn.shape), -1)
