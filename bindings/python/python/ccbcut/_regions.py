"""Superpixels, and regions that are cut as one vertex each."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ccbcut import _ccbcut
from ccbcut._arrays import VOID, as_labels, as_mask, as_pixels, count, number, to_array
from ccbcut._options import take

REGION_DEFAULTS: dict[str, Any] = {
    "compactness": 10.0,
    "region_sigma": 14.0,
    "region_features": None,
    "region_feature_sigma": None,
}


def superpixels(
    image: Any, n_segments: int = 1000, *, compactness: float = 10.0, mask: Any = None, threads: int = 0
) -> npt.NDArray[np.int32]:
    """Cut an image into many small, compact regions of like colour: SLIC superpixels.

    `segment` takes the map as `superpixels`, and cuts its regions instead of the pixels.

    Parameters
    ----------
    image : array-like of shape (height, width) or (height, width, channels)
        As in `segment`.
    n_segments : int, default 1000
        About how many; their number follows from the grid of centres and from what is connected.
    compactness : float, default 10.0
        How much place counts against colour: more makes squares, less follows edges.
    mask : array-like of bool, shape (height, width), optional
        The pixels to cut; the others get the label -1.
    threads : int, default 0
        Threads to use, 0 for all; changes the time, never the result.

    Returns
    -------
    ndarray of int32, shape (height, width)
        Numbers by first appearance in raster order: those that ``ccbcut superpixels`` writes for the same pixels.

    References
    ----------
    R. Achanta and others, SLIC superpixels compared to state-of-the-art superpixel methods, TPAMI 34(11), 2012.

    Examples
    --------
    >>> import numpy as np, ccbcut
    >>> image = np.full((40, 60), 0.2, dtype=np.float32)
    >>> image[:, 30:] = 0.9
    >>> regions = ccbcut.superpixels(image, 24)
    >>> int(regions.max()) + 1, len(np.intersect1d(regions[:, :30], regions[:, 30:]))
    (24, 0)
    """
    pixels, alpha = as_pixels(image)
    on = as_mask(mask, alpha, (pixels.shape[0], pixels.shape[1]))
    size = number("compactness", compactness)
    return _ccbcut.superpixels(pixels, on, count("n_segments", n_segments), size, count("threads", threads))


def region_options(superpixels: Any, given: dict[str, Any], shape: tuple[int, int]) -> dict[str, Any] | None:
    """Where regions come from and how they are tied; None where pixels are cut."""
    if superpixels is None:
        for name in REGION_DEFAULTS:
            if name in given:
                raise ValueError(f"{name} is given, but it says nothing without superpixels")
        return None
    options = take(given, REGION_DEFAULTS)
    is_count = np.ndim(superpixels) == 0 and not hasattr(superpixels, "convert")
    regions = None if is_count else as_regions(superpixels, shape)
    if options["region_features"] is not None:
        if is_count:
            raise ValueError(
                "region_features has a row for each region of a label map: give it as superpixels"
            )
        options["region_features"] = _rows(options["region_features"])
    elif options["region_feature_sigma"] is not None:
        raise ValueError("region_feature_sigma is given, but region_features is not")
    return {
        **options,
        "superpixels": count("superpixels", superpixels) if is_count else None,
        "regions": regions,
    }


def as_regions(labels: Any, shape: tuple[int, int]) -> npt.NDArray[np.uint32]:
    """A label map of the image; negative numbers are no region."""
    numbers = as_labels("superpixels", labels, keep_void=True)
    if numbers.shape != shape:
        raise ValueError(f"superpixels has the shape {numbers.shape}, but the image has {shape}")
    if (numbers == VOID).all():
        raise ValueError("superpixels has no region: all its labels are negative")
    return numbers


def _rows(features: Any) -> npt.NDArray[np.float64]:
    rows = to_array(features)
    if rows.ndim == 1:
        rows = rows[:, np.newaxis]
    if rows.ndim != 2:
        raise ValueError(
            f"region_features has the shape {rows.shape}, but it must have a row for each region"
        )
    if rows.dtype == object or not np.can_cast(rows.dtype, np.float64, casting="same_kind"):
        raise TypeError(f"region_features holds {rows.dtype}, but it must hold real numbers")
    return np.ascontiguousarray(rows, dtype=np.float64)
