"""Writes filter responses of an image on a grid of patches, as a feature map for `ccbcut segment --features`.

    python3 bench/filter_bank.py photo.jpg features.npy [patch]

Needs NumPy, SciPy and Pillow. For each patch of `patch` x `patch` pixels (8 unless told otherwise) it keeps the mean colour
and the mean size of oriented first and second derivatives at three scales, each divided by its spread over the image: a
stand-in for learnt features where there are none.
"""

import sys

import numpy as np
from PIL import Image
from scipy.ndimage import gaussian_filter


def responses(rgb):
    """Feature planes of an image with values in [0, 1]."""
    gray = rgb @ [0.2989, 0.587, 0.114]
    opponents = [gray, rgb[..., 0] - rgb[..., 1], rgb[..., 2] - rgb[..., :2].mean(-1)]
    planes = list(opponents)
    for scale in [1.0, 2.0, 4.0]:
        d = {order: gaussian_filter(gray, scale, order=order) * scale ** sum(order) for order in
             [(0, 1), (1, 0), (0, 2), (1, 1), (2, 0)]}
        for angle in np.arange(4) * np.pi / 4:
            c, s = np.cos(angle), np.sin(angle)
            planes.append(np.abs(c * d[0, 1] + s * d[1, 0]))
            planes.append(np.abs(c * c * d[0, 2] + 2 * c * s * d[1, 1] + s * s * d[2, 0]))
    return planes


def on_patches(planes, patch):
    """The mean of each plane over each patch, standardised: rows x columns x features."""
    height, width = planes[0].shape
    h, w = height // patch, width // patch
    means = [plane[: h * patch, : w * patch].reshape(h, patch, w, patch).mean((1, 3)) for plane in planes]
    features = np.stack(means, -1)
    return (features - features.mean((0, 1))) / np.maximum(features.std((0, 1)), 1e-12)


if __name__ == "__main__":
    source, target, *rest = sys.argv[1:]
    image = np.asarray(Image.open(source).convert("RGB"), dtype=float) / 255
    np.save(target, on_patches(responses(image), int(rest[0]) if rest else 8).astype(np.float32))
