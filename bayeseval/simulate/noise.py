"""The urn as a sort: noises that runs share, and the largest keys."""

import numpy as np


def urn_noise(
    rng: np.random.Generator, team: np.ndarray, n_documents: int, shared: float, team_shared: float
) -> np.ndarray:
    """Gumbel noise (run, document), independent over documents, correlated over runs.

    Drawn document by document, so that the first columns do not depend on `n_documents`.

    ``team`` (run,) holds positions of teams; ``shared`` and ``team_shared`` are rho and tau of
    :func:`bayeseval.simulate.urn_collection`.
    """
    from scipy.special import log_ndtr

    n_teams = int(team.max()) + 1
    normal = rng.standard_normal((n_documents, 1 + n_teams + team.size)).T
    common, by_team, own = normal[0], normal[1 : 1 + n_teams], normal[1 + n_teams :]
    left = np.sqrt(max(0.0, 1.0 - shared**2 - team_shared**2))
    mixed = shared * common + team_shared * by_team[team] + left * own
    return -np.log(-log_ndtr(mixed))  # the Gumbel quantile of Phi(z), accurate in both tails


def top_documents(key: np.ndarray, depth: int) -> np.ndarray:
    """Columns (run, rank) of the largest keys of each row, largest first, -1 past the last one."""
    kept = min(depth, key.shape[1])
    best = np.argpartition(-key, kept - 1, axis=1)[:, :kept]
    order = np.argsort(-np.take_along_axis(key, best, axis=1), axis=1)
    ranking = np.full((key.shape[0], depth), -1, dtype=np.int64)
    ranking[:, :kept] = np.take_along_axis(best, order, axis=1)
    return ranking
