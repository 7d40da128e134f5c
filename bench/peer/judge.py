"""What came out: residuals and Rayleigh quotients of vectors, computed in difference form for everybody."""

import numpy as np
import scipy.sparse as sp


def laplacian_times(weights, x):
    """(Lx)ᵢ = Σⱼ w_ij (xᵢ − xⱼ), column by column: no digits are lost where weights span many decades."""
    coo = sp.triu(weights, 1).tocoo()
    out = np.zeros_like(x)
    for c in range(x.shape[1]):
        flow = coo.data * (x[coo.row, c] - x[coo.col, c])
        n = x.shape[0]
        out[:, c] = np.bincount(coo.row, flow, n) - np.bincount(coo.col, flow, n)
    return out


def judge(weights, pi, x):
    """Eigenvalues and residuals of the columns, after one Rayleigh–Ritz step within their span.

    A residual is ‖Ax − λx‖, divided by maxᵢ dᵢ/πᵢ where that exceeds 1: reweighted graphs have operators of any norm.

    The step sorts and rotates: a solver is not blamed for the basis it chose of nearly equal eigenvalues. The
    trivial vector is projected out first.
    """
    scale = 1 / np.sqrt(pi)
    trivial = np.sqrt(pi) / np.linalg.norm(np.sqrt(pi))
    basis = np.linalg.qr(x - np.outer(trivial, trivial @ x))[0]
    y = scale[:, None] * basis
    image = scale[:, None] * laplacian_times(weights, y)
    values, rotation = np.linalg.eigh(0.5 * (basis.T @ image + image.T @ basis))
    residuals = np.linalg.norm(image @ rotation - basis @ rotation * values, axis=0)
    d = np.asarray(weights.sum(axis=1)).ravel() - weights.diagonal()
    return values, residuals / max(1.0, (d / pi).max())


def degrees(weights, loops=True):
    """Row sums; a vertex without edges gets the smallest positive one."""
    d = np.asarray(weights.sum(axis=1)).ravel()
    if not loops:
        d = d - weights.diagonal()
    return np.where(d > 0, d, d[d > 0].min())


def reweighted(weights, y, tau, epsilon):
    """W∘Γ with γ = [w‖Δy‖² + ε²]^(τ/2−1); the diagonal goes: it is in no Laplacian."""
    upper = sp.triu(weights, 1).tocoo()
    squared = ((y[upper.row] - y[upper.col]) ** 2).sum(axis=1)
    data = upper.data * (upper.data * squared + epsilon**2) ** (tau / 2 - 1)
    half = sp.coo_array((data, (upper.row, upper.col)), shape=weights.shape).tocsr()
    return (half + half.T).tocsr()
