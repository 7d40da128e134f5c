"""From what users have to the few types that the extension borrows.

What is already of the right type is not copied: float32 images in C order, and CSR matrices with int32 indices and
float64 data (of these only ``indptr`` is widened). Anything else is converted once.
"""

from __future__ import annotations

import operator
import os
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from ccbcut import _ccbcut

VOID = np.uint32(0xFFFF_FFFF)


def to_array(value: Any) -> npt.NDArray[Any]:
    """Anything with ``__array__``, ``__array_interface__``, a buffer or DLPack, as an array; without a copy if possible."""
    if isinstance(value, np.ndarray):
        return value
    if isinstance(value, (str, bytes, os.PathLike)):
        raise TypeError(
            f"expected an array, but got {value!r}: read the file first, for example with PIL or SciPy"
        )
    if hasattr(value, "__dlpack__"):
        try:
            try:
                return np.from_dlpack(value, device="cpu")
            except TypeError:  # NumPy before 2.1, or a producer that knows no devices
                return np.from_dlpack(value)
        except (BufferError, RuntimeError, TypeError, ValueError):
            pass  # it may still have __array__
    return np.asarray(value)


def count(name: str, value: Any) -> int:
    """An integer of 0 or more."""
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{name} is {value!r}, but it must be an integer") from None
    if number < 0:
        raise ValueError(f"{name} is {number}, but it must not be negative")
    return number


def number(name: str, value: Any) -> float:
    """A real number."""
    if isinstance(value, (str, bytes)) or np.ndim(value) != 0:
        raise TypeError(f"{name} is {value!r}, but it must be a number")
    try:
        return float(value)
    except (TypeError, ValueError):
        raise TypeError(f"{name} is {value!r}, but it must be a number") from None


def as_pixels(image: Any) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.bool_] | None]:
    """Height × width × channels in float32, and the pixels that are not transparent, if some are.

    uint8 is divided by 255, uint16 by 65535, as the command does it; floats are taken as they are. Transparency is
    dropped, but fully transparent pixels are masked out.
    """
    mode = getattr(image, "mode", None)
    if isinstance(mode, str) and hasattr(image, "convert"):  # a PIL image
        if mode in ("P", "PA", "CMYK", "YCbCr", "LAB", "HSV"):
            image = image.convert("RGBA" if "transparency" in image.info or mode == "PA" else "RGB")
        elif mode == "1":
            image = image.convert("L")
    array = to_array(image)
    if array.ndim == 2:
        array = array[:, :, np.newaxis]
    if array.ndim != 3:
        shape = " x ".join(map(str, array.shape))
        raise ValueError(
            f"the image has the shape {shape or '()'}, but it must be (height, width) or (height, width, channels)"
        )
    alpha = None
    if array.shape[2] in (2, 4):
        alpha = array[:, :, -1] != 0
        array = array[:, :, :-1]
        if alpha.all():
            alpha = None
    return _to_float32(array), alpha


def _to_float32(array: npt.NDArray[Any]) -> npt.NDArray[np.float32]:
    if array.dtype == np.uint8:
        array = array.astype(np.float32) / np.float32(255)
    elif array.dtype == np.uint16:
        array = array.astype(np.float32) / np.float32(65535)
    elif not (array.dtype == np.bool_ or np.issubdtype(array.dtype, np.floating)):
        raise TypeError(f"the image holds {array.dtype}, but it must hold bool, uint8, uint16 or floats")
    return np.ascontiguousarray(array, dtype=np.float32)


def as_mask(
    mask: Any, alpha: npt.NDArray[np.bool_] | None, shape: tuple[int, int]
) -> npt.NDArray[np.bool_] | None:
    """The pixels that take part: those of the mask that are not transparent."""
    if mask is None:
        return None if alpha is None else np.ascontiguousarray(alpha)
    array = to_array(mask)
    if array.shape != shape:
        raise ValueError(f"the mask has the shape {array.shape}, but the image has {shape}")
    array = array != 0 if array.dtype != np.bool_ else array
    return np.ascontiguousarray(array if alpha is None else array & alpha)


def as_csr(W: Any) -> sp.csr_array:
    """A square matrix in compressed rows, with float64 weights."""
    if sp.issparse(W):
        rows = sp.csr_array(W)
    else:
        dense = to_array(W)
        if dense.ndim != 2:
            raise ValueError(f"the weight matrix has {dense.ndim} dimensions, but it must have 2")
        if dense.dtype == object or not np.can_cast(dense.dtype, np.float64, casting="same_kind"):
            raise TypeError(f"the weight matrix holds {dense.dtype}, but it must hold real numbers")
        rows = sp.csr_array(dense)
    if rows.shape[0] != rows.shape[1]:
        raise ValueError(f"the weight matrix is {rows.shape[0]} x {rows.shape[1]}, but it must be square")
    return rows


def csr_parts(
    W: sp.csr_array,
) -> tuple[npt.NDArray[np.uintp], npt.NDArray[np.uint32], npt.NDArray[np.float64]]:
    """Offsets, columns and weights as the extension borrows them."""
    if np.iscomplexobj(W.data):
        raise TypeError(f"the weight matrix holds {W.data.dtype}, but it must hold real numbers")
    indices = np.ascontiguousarray(W.indices)
    if indices.dtype != np.int32:
        if indices.size and (indices.min() < 0 or indices.max() >= VOID):
            raise ValueError("the columns of the weight matrix must be below 2**32 - 1")
        indices = indices.astype(np.uint32)
    weights = np.ascontiguousarray(W.data, dtype=np.float64)
    return W.indptr.astype(np.uintp), indices.view(np.uint32), weights


def as_graph(W: Any) -> _ccbcut.Graph:
    """The library's graph of a weight matrix."""
    return _ccbcut.Graph(*csr_parts(as_csr(W)))


def as_labels(name: str, labels: Any, *, keep_void: bool) -> npt.NDArray[np.uint32]:
    """Part numbers as uint32 of the same shape; negative ones are no part, where that is allowed."""
    array = to_array(labels)
    if array.dtype == np.bool_ or array.size == 0:
        array = array.astype(np.uint8)
    if not np.issubdtype(array.dtype, np.integer):
        values = array.astype(np.int64) if np.issubdtype(array.dtype, np.floating) else None
        if values is None or not np.array_equal(values, array):
            raise TypeError(f"{name} holds {array.dtype}, but it must hold integers")
        array = values
    void = array < 0
    if void.any() and not keep_void:
        raise ValueError(f"{name} holds {int(array.min())}, but labels must not be negative")
    _, dense = np.unique(array, return_inverse=True)
    numbers = dense.reshape(array.shape).astype(np.uint32)
    numbers[void] = VOID
    return np.ascontiguousarray(numbers)
