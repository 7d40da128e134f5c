"""Image → pixel graph → coarse graph in NumPy and SciPy: the twin of `affinity` and `coarsen`."""

import numpy as np
import scipy.sparse as sp
from PIL import Image

RADIUS = 10


def read(path):
    """An image as float64 sRGB in [0, 1]."""
    return np.asarray(Image.open(path).convert("RGB"), dtype=np.float64) / 255.0


def to_lab(rgb):
    """sRGB → L*a*b* under D65, as 32-bit numbers."""
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    matrix = np.array(
        [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750], [0.0193339, 0.1191920, 0.9503041]]
    )
    t = linear @ (matrix / matrix.sum(axis=1, keepdims=True)).T
    f = np.where(t > 216 / 24389, np.cbrt(t), (24389 / 27 * t + 16) / 116)
    lab = np.stack([116 * f[..., 1] - 16, 500 * (f[..., 0] - f[..., 1]), 200 * (f[..., 1] - f[..., 2])], axis=-1)
    return lab.astype(np.float32)


def disc(radius=RADIUS):
    """All offsets (rows down, columns right) up to the radius, without the centre, in raster order."""
    reach = range(-radius, radius + 1)
    return [(dr, dc) for dr in reach for dc in reach if 0 < dr * dr + dc * dc <= radius * radius]


def full_graph(lab, sigma, radius=RADIUS):
    """exp(−d²/σ²) over the disc, as a symmetric CSR matrix: the plain way, triplets of one half and their mirror."""
    height, width, _ = lab.shape
    index = np.arange(height * width, dtype=np.int32).reshape(height, width)
    planes = np.ascontiguousarray(np.moveaxis(lab, -1, 0))
    rows, columns, weights = [], [], []
    for dr, dc in disc(radius):
        if dr < 0 or (dr == 0 and dc < 0) or dr >= height or abs(dc) >= width:
            continue
        here = (slice(0, height - dr), slice(max(0, -dc), width - max(0, dc)))
        there = (slice(dr, height), slice(max(0, dc), width + min(0, dc)))
        squared = ((planes[(slice(None), *here)] - planes[(slice(None), *there)]) ** 2).sum(axis=0)
        rows.append(index[here].ravel())
        columns.append(index[there].ravel())
        weights.append(np.exp(squared * np.float32(-1 / sigma**2)).ravel())
    rows, columns = np.concatenate(rows), np.concatenate(columns)
    half = sp.coo_array((np.concatenate(weights), (rows, columns)), shape=(height * width,) * 2).tocsr()
    half.eliminate_zeros()
    return (half + half.T).tocsr().astype(np.float64)


def kept_pixels(height, width):
    """The pixels in odd rows and odd columns, as numbers on the grid."""
    return (np.arange(1, height, 2)[:, None] * width + np.arange(1, width, 2)[None, :]).ravel()


def decimate_columns(columns):
    """A′ = CᵀB and B from C = A[:, K]."""
    d = np.asarray(columns.sum(axis=1)).ravel() + np.finfo(float).eps
    b = sp.diags_array(1 / d).tocsr() @ columns
    return (columns.T.tocsr() @ b).tocsr(), b


def kept_columns(lab, sigma, radius=RADIUS):
    """C = A[:, K] of the pixel graph, the other three quarters of A never formed.

    Row i of Cᵀ is a kept pixel and its disc in raster order, so the CSR arrays come out sorted as they are.
    """
    height, width, _ = lab.shape
    kept = kept_pixels(height, width)
    r, c = kept // width, kept % width
    offsets = np.array([o for o in disc(radius) if abs(o[0]) < height and abs(o[1]) < width])
    planes = np.ascontiguousarray(lab.reshape(-1, 3).T)
    indptr, indices, data = [0], [], []
    for block in np.array_split(np.arange(len(kept)), max(1, len(kept) // 4096)):
        rr, cc = r[block, None] + offsets[:, 0], c[block, None] + offsets[:, 1]
        inside = (rr >= 0) & (rr < height) & (cc >= 0) & (cc < width)
        q = np.where(inside, rr * width + cc, 0)
        squared = sum((plane[kept[block], None] - plane[q]) ** 2 for plane in planes)
        w = np.exp(squared * np.float32(-1 / sigma**2))
        tied = inside & (w > 0)
        indices.append(q[tied].astype(np.int32))
        data.append(w[tied].astype(np.float64))
        indptr.extend((indptr[-1] + np.cumsum(tied.sum(axis=1))).tolist())
    arrays = (np.concatenate(data), np.concatenate(indices), np.array(indptr, dtype=np.int32))
    return sp.csr_array(arrays, shape=(len(kept), height * width)).T.tocsr()


def coarse_graph(lab, sigma, levels=2, plain=False):
    """The coarse graph, its grid, and the matrices B from the finest level on.

    `plain` forms the whole pixel graph first, as one would write it down; otherwise only the columns that are kept.
    """
    height, width, _ = lab.shape
    shape, graph, ways_up = (height, width), None, []
    for level in range(levels):
        if level == 0 and not plain:
            columns = kept_columns(lab, sigma)
        else:
            graph = full_graph(lab, sigma) if level == 0 else graph
            columns = graph[:, kept_pixels(*shape)]
        graph, b = decimate_columns(columns)
        ways_up.append(b)
        shape = (shape[0] // 2, shape[1] // 2)
    return symmetric(graph), shape, ways_up


def symmetric(graph):
    """Symmetric to the last bit, sorted, with 32-bit indices."""
    graph = ((graph + graph.T) * 0.5).tocsr()
    graph.sort_indices()
    graph.indices = graph.indices.astype(np.int32)
    graph.indptr = graph.indptr.astype(np.int32)
    return graph


def prolong(ways_up, y):
    """B₁ B₂ … Y."""
    for b in reversed(ways_up):
        y = b @ y
    return y


def synthetic(path, height=321, width=481, seed=0):
    """Draws a scene: ellipses of different colour over a soft gradient, with grain."""
    random = np.random.default_rng(seed)
    y, x = np.mgrid[0:height, 0:width] / max(height, width)
    image = np.stack([0.35 + 0.4 * y, 0.4 + 0.2 * x, 0.6 - 0.3 * y], axis=-1)
    for _ in range(14):
        cy, cx, ry, rx = random.uniform(0, 0.7), random.uniform(0, 1), *random.uniform(0.04, 0.2, 2)
        inside = ((y - cy) / ry) ** 2 + ((x - cx) / rx) ** 2 < 1
        image[inside] = 0.7 * image[inside] + 0.3 * random.uniform(0.1, 0.9, 3)
    image += 0.02 * random.standard_normal(image.shape)
    Image.fromarray((255 * image.clip(0, 1)).astype(np.uint8)).save(path)


def enlarge(source, path, height, width):
    """Writes an image of another size, smoothly interpolated."""
    Image.open(source).convert("RGB").resize((width, height), Image.Resampling.BICUBIC).save(path)
