"""Likelihood of judged lists under Park's urn, with its gradient."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


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
    length : int array (topic, run)
        Ranks down to which a run counts; 0 where it lacks the topic.
    n_documents : int array (topic,)
        N.

    Examples
    --------
    >>> lists = UrnLists(np.array([[[1, -1, 0]]], np.int8), np.array([[3]]), np.array([4]))
    >>> value, gradient = lists.log_likelihood(0.0, np.zeros(1))
    >>> float(np.exp(value)), gradient  # order at random: 1/2 times 1/2
    (0.25, array([ 0.    , -0.4167]))
    """

    relevance: NDArray[np.int8]
    length: NDArray[np.integer]
    n_documents: NDArray[np.integer]

    @property
    def n_runs(self) -> int:
        """Number of runs."""
        return self.relevance.shape[1]

    def log_likelihood(
        self, logit: float, log_odds: NDArray[np.float64]
    ) -> tuple[float, NDArray[np.float64]]:
        """Log-likelihood and its gradient (1 + run) by logit q and each log w.

        Parameters
        ----------
        logit : float
            Logit of q.
        log_odds : float array (run,)
            log w, the logs of the relevance ratios.
        """
        from bayeseval.distributions.wallenius_sequence_kernel import topic_log_likelihoods

        colour = self._shown()
        value, slope, change = topic_log_likelihoods(
            colour,
            np.tile(np.asarray(log_odds, dtype=np.float64), (len(colour), 1)),
            np.full(len(colour), float(logit)),
            np.asarray(self.n_documents, dtype=np.int64),
            np.ones(len(colour)),
        )
        return value.sum(), np.append(change.sum(), slope.sum(axis=0))

    def number_posterior(
        self, topic: int, logit: float, log_odds: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Distribution of the number of relevant documents of a topic given its lists, (M,)."""
        from bayeseval.distributions.wallenius_sequence_kernel import joint_terms

        n_documents = int(self.n_documents[topic])
        number, value, _ = joint_terms(
            self._shown()[topic], np.asarray(log_odds, dtype=np.float64), float(logit),
            n_documents, 1.0, False,
        )  # fmt: skip
        weight = np.exp(value - value.max())
        return np.bincount(number.astype(int), weight, n_documents + 1) / weight.sum()

    def _shown(self) -> NDArray[np.int8]:
        """Relevances of the ranks that count, -1 below them."""
        counts = np.arange(self.relevance.shape[2]) < self.length[:, :, None]
        return np.where(counts, self.relevance, np.int8(-1))
