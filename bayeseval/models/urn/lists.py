"""The lists that the urn's likelihood is maximised over, and that likelihood with its gradient."""

from dataclasses import dataclass

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from bayeseval.collection import check_collection
from bayeseval.distributions.wallenius_count import check_numbers
from bayeseval.models.urn.tops import judged_tops


@dataclass(frozen=True, eq=False)
class UrnLists:
    r"""Judged lists of several topics and the likelihood of the urn's parameters.

    M, the number of relevant documents, belongs to the topic: it is Binomial(N, q) once per topic
    and shared by all runs, which draw their lists independently given M and their w,

    .. math:: L(q, w) = \prod_t \sum_M \binom{N_t}{M} q^M (1 - q)^{N_t - M}
              \prod_r P(r_{t,r,1}, \dots, r_{t,r,d} \mid M, w_r)

    The probability of a list is that of its sequence of draws (equation 12), unjudged ranks summed
    over exactly. The gradient is analytic: with :math:`\pi_t(M)` the distribution of M given the
    lists of topic t,

    .. math:: \frac{\partial \log L}{\partial\, logit\, q} = \sum_t E_{\pi_t}[M - N_t q], \quad
              \frac{\partial \log L}{\partial \log w_r} = \sum_t E_{\pi_t}\left[
              \frac{\partial \log P_{t,r}}{\partial \log w_r}\right]

    Parameters
    ----------
    relevance : int8 array (topic, run, rank)
        1 relevant, 0 not, -1 not judged.
    n_documents : int array (topic,)
        N.

    Examples
    --------
    >>> lists = UrnLists(np.array([[[1, -1, 0]]], np.int8), np.array([4]))
    >>> value, gradient = lists.log_likelihood(np.zeros(2))
    >>> float(np.exp(value)), gradient  # order at random: 1/2 times 1/2
    (0.25, array([ 0.    , -0.4167]))
    """

    relevance: NDArray[np.int8]
    n_documents: NDArray[np.integer]

    @property
    def n_runs(self) -> int:
        """Number of runs."""
        return self.relevance.shape[1]

    def log_likelihood(self, parameters: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        """Log-likelihood and its gradient by logit q and each log w, all (1 + run,)."""
        from bayeseval.distributions.wallenius_sequence_kernel import topic_log_likelihoods

        n_topics = len(self.relevance)
        value, slope, change = topic_log_likelihoods(
            self.relevance,
            np.tile(parameters[1:], (n_topics, 1)),
            np.full(n_topics, parameters[0]),
            np.asarray(self.n_documents, dtype=np.int64),
            np.ones(n_topics),
        )
        return value.sum(), np.append(change.sum(), slope.sum(axis=0))


def urn_lists(
    collection: xr.DataTree,
    *,
    n_documents: int | xr.DataArray,
    depth: int,
    relevance_level: int = 1,
    runs: list[str] | None = None,
    gaps: str = "refuse",
) -> tuple[UrnLists, NDArray[np.str_]]:
    """Judged tops of the runs, checked, and the labels of these runs.

    Parameters and errors are those of `urn_estimate`.

    Examples
    --------
    >>> import pandas as pd, bayeseval as be
    >>> run = pd.DataFrame({"run": "a", "topic": "1", "document": list("abc"), "score": [3, 2, 1]})
    >>> qrels = pd.DataFrame({"topic": "1", "document": ["a", "b"], "grade": [0, 2]})
    >>> lists, labels = urn_lists(be.read_collection(qrels, run), n_documents=9, depth=2)
    >>> lists.relevance[0, 0].tolist(), labels.tolist()
    ([0, 1], ['a'])
    """
    check_collection(collection)
    every = np.ones(collection.sizes["pair"], dtype=bool)
    tops = judged_tops(
        collection, depth=depth, frame=every, runs=runs, relevance_level=relevance_level, gaps=gaps
    )
    labels = tops.coords
    numbers = n_documents
    if isinstance(n_documents, xr.DataArray):
        numbers = n_documents.sel(topic=labels["topic"]).to_numpy()
    check_numbers(n_documents=numbers)
    numbers = np.broadcast_to(numbers, labels["topic"].size).astype(np.int64)
    relevance = np.ascontiguousarray(tops.lists(every))
    used = np.where(relevance >= 0, labels["rank"], 0).max(axis=(1, 2))
    if (used > numbers).any():
        topic = int(np.argmax(used > numbers))
        raise ValueError(
            f"n_documents must be at least the ranks used; topic '{labels['topic'][topic]}' has "
            f"{numbers[topic]} documents and a run with more."
        )
    return UrnLists(relevance, numbers), labels["run"]
