"""The peers: the smallest nontrivial eigenpairs of A = Π^(−½) L Π^(−½), each solver called the way its users would.

A solver takes a `Problem` and returns the vectors x (n × k); what it is timed for is everything from the weight
matrix in memory to those vectors. All work to 10⁻⁶ where they have a tolerance, the default of `ccbcut`.
"""

import warnings

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator, eigsh, lobpcg

TOL = 1e-6


class Problem:
    """Weights (self-loops on the diagonal), balance weights π, number of pairs, grid, and maybe vectors to start from."""

    def __init__(self, weights, pi, k, shape=None, warm=None):
        self.weights, self.pi, self.k, self.shape, self.warm = weights, pi, k, shape, warm

    def scaled_weights(self):
        """Π^(−½) W Π^(−½)."""
        s = sp.diags_array(1 / np.sqrt(self.pi))
        return (s @ self.weights @ s).tocsr()

    def operator(self):
        """A, assembled."""
        w = self.weights
        laplacian = sp.diags_array(np.asarray(w.sum(axis=1)).ravel()) - w
        s = sp.diags_array(1 / np.sqrt(self.pi))
        return (s @ laplacian @ s).tocsr()

    def trivial(self):
        q = np.sqrt(self.pi)
        return q / np.linalg.norm(q)

    def start(self):
        """One vector for ARPACK, which takes no more; random without a warm start."""
        if self.warm is None:
            return np.random.default_rng(0).standard_normal(len(self.pi))
        return self.warm.sum(axis=1) + 1e-3 * self.trivial()

    def block(self):
        """A block for LOBPCG: warm vectors, or random ones."""
        if self.warm is not None:
            return self.warm.copy()
        return np.random.default_rng(0).standard_normal((len(self.pi), self.k))


def nontrivial(values, vectors, k):
    """Drops the trivial pair: the smallest of k + 1."""
    return vectors[:, np.argsort(values)[1 : k + 1]]


def shift_of(a):
    """How far below zero to put the shift of a semidefinite A: what rounding of ‖A‖ leaves, and not less than 10⁻⁹."""
    return max(1e-9, 64 * np.finfo(float).eps * a.diagonal().max())


def eigsh_la(p):
    """ARPACK on the normalized adjacency, largest first; right for τ = 2 alone, where it is bounded by 1."""
    values, vectors = eigsh(p.scaled_weights(), k=p.k + 1, which="LA", tol=TOL, v0=p.start())
    return nontrivial(-values, vectors, p.k)


def eigsh_sa(p):
    """ARPACK on the Laplacian, smallest first."""
    return nontrivial(*eigsh(p.operator(), k=p.k + 1, which="SA", tol=TOL, v0=p.start()), p.k)


def eigsh_shift_invert(p):
    """ARPACK with SuperLU inside: the call that manuals recommend for small eigenvalues."""
    a = p.operator().tocsc()
    return nontrivial(*eigsh(a, k=p.k + 1, sigma=-shift_of(a), which="LM", tol=TOL, v0=p.start()), p.k)


def band_order(p):
    """The numbering with the narrowest band: along the short side of the grid, else reverse Cuthill–McKee."""
    if p.shape is None:
        return sp.csgraph.reverse_cuthill_mckee(p.weights, symmetric_mode=True)
    height, width = p.shape
    index = np.arange(height * width).reshape(height, width)
    return index.T.ravel() if height < width else index.ravel()


def lower_band(a):
    """The lower band of a symmetric matrix, as LAPACK stores it."""
    lower = sp.tril(a).tocoo()
    below = lower.row - lower.col
    band = np.zeros((below.max() + 1, a.shape[0]), order="F")
    band[below, lower.col] = lower.data
    return band


def banded(p):
    """The expert's Python: reorder, factor the band by LAPACK, hand its solves to ARPACK."""
    order = band_order(p)
    a = p.operator()[order][:, order].tocsr()
    shift, band = shift_of(a), lower_band(a)
    diagonal = band[0].copy()
    while True:
        try:
            band[0] = diagonal + shift
            factor = scipy.linalg.cholesky_banded(band, lower=True, check_finite=False)
            break
        except np.linalg.LinAlgError:
            shift *= 30
            if shift > a.diagonal().max():
                raise

    def solve(x):
        return scipy.linalg.cho_solve_banded((factor, True), x, check_finite=False)

    inverse = LinearOperator(a.shape, matvec=solve, dtype=float)
    found = eigsh(a, k=p.k + 1, sigma=-shift, OPinv=inverse, which="LM", tol=TOL, v0=p.start()[order])
    vectors = np.empty((a.shape[0], p.k))
    vectors[order] = nontrivial(*found, p.k)
    return vectors


def lobpcg_with(p, preconditioner):
    a = p.operator()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        values, vectors = lobpcg(
            a, p.block(), M=preconditioner(a), Y=p.trivial()[:, None], tol=TOL, maxiter=300, largest=False
        )
    return vectors[:, np.argsort(values)]


def lobpcg_plain(p):
    return lobpcg_with(p, lambda a: None)


def lobpcg_pyamg(p):
    """LOBPCG with smoothed aggregation, shifted a little off the singular matrix as scikit-learn does."""
    from pyamg import smoothed_aggregation_solver

    def build(a):
        shifted = sp.csr_matrix(a + 1e-5 * sp.eye_array(a.shape[0]))
        shifted.indices, shifted.indptr = shifted.indices.astype(np.int32), shifted.indptr.astype(np.int32)
        return smoothed_aggregation_solver(shifted).aspreconditioner()

    return lobpcg_with(p, build)


def sklearn_embedding(p, solver):
    """scikit-learn, whose Laplacian knows no self-loops: π are the degrees without them."""
    from sklearn.manifold import spectral_embedding

    y = spectral_embedding(
        sp.csr_matrix(p.weights),
        n_components=p.k,
        eigen_solver=solver,
        random_state=0,
        eigen_tol="auto" if solver == "arpack" else TOL,
        drop_first=True,
    )
    return y * np.sqrt(p.pi)[:, None]


def sklearn_clustering(p, solver):
    """SpectralClustering into k parts, labels and not vectors."""
    from sklearn.cluster import SpectralClustering

    model = SpectralClustering(p.k, affinity="precomputed", eigen_solver=solver, random_state=0, n_init=10)
    return model.fit(sp.csr_matrix(p.weights)).labels_


SOLVERS = {
    "eigsh LA": eigsh_la,
    "eigsh SA": eigsh_sa,
    "eigsh shift-invert": eigsh_shift_invert,
    "lobpcg": lobpcg_plain,
    "lobpcg + pyamg": lobpcg_pyamg,
    "banded Cholesky + eigsh": banded,
    "spectral_embedding arpack": lambda p: sklearn_embedding(p, "arpack"),
    "spectral_embedding lobpcg": lambda p: sklearn_embedding(p, "lobpcg"),
    "spectral_embedding amg": lambda p: sklearn_embedding(p, "amg"),
    "SpectralClustering arpack": lambda p: sklearn_clustering(p, "arpack"),
    "SpectralClustering amg": lambda p: sklearn_clustering(p, "amg"),
}


def warm_up(name):
    """Imports what the solver needs, so that the clock does not see it."""
    if "pyamg" in name or "amg" in name:
        import pyamg  # noqa: F401
    if name.startswith("spectral_embedding"):
        import sklearn.manifold  # noqa: F401
    if name.startswith("SpectralClustering"):
        import sklearn.cluster  # noqa: F401
