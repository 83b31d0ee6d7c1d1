"""Judgments beside what a fit predicts of them: by stratum, by topic, by ranks, and in all."""

from typing import NamedTuple

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from bayeseval.frame.frame import BY_CHANCE, Frame
from bayeseval.frame.rankings import TopicRanks
from bayeseval.messages import counted
from bayeseval.models.identity import check_fit
from bayeseval.models.relevance.draws import RelevanceDraws
from bayeseval.models.table import kind_of_documents
from bayeseval.processors import one_blas_thread
from bayeseval.rounding import ratio

KINDS = ("strata", "topics", "agreement", "runs", "relevant")
TOP = 10  # ranks of a run that make a group


class _Sums(NamedTuple):
    """What is summed over the judged documents of a group, for every group of a kind."""

    observed: NDArray[np.float64]  # (group,)
    predicted: NDArray[np.float64]  # (group, draw)
    variance: NDArray[np.float64]  # (group,), of the data given the parameters
    cubed: NDArray[np.float64]  # (group,), of the same with the weights cubed
    replicated: NDArray[np.float64]  # (group, replicate), less their expectation
    count: NDArray[np.float64]  # (group,)


def predicted_judgments(
    fitted: xr.DataTree, sampled: xr.DataTree, *, random_seed: int = 0
) -> xr.Dataset:
    r"""Relevance of groups of documents by the judgments, beside the fit's predictions.

    A judged document d stands for :math:`w_d = 1 / \pi_d - 1` others that the design could have
    judged in its place (1 without a design, and where it is a pool or draws with replacement). Of a
    group of documents G the judgments estimate :math:`\sum_{d \in G} w_d y_d` relevant ones among
    those not judged, and the fit :math:`\sum_{d \in G} w_d p_d`. The difference,

    .. math:: T = \sum_{d \in G} w_d (y_d - \mathrm{E} p_d),

    is over all documents that between the number of relevant ones by ``dyn``, with the fit as its
    predictor, and by the fit alone. The design makes it 0 in expectation only if the fit is right.

    Under the model the judgments vary by :math:`D = \sum w_d^2 \mathrm{E}[p_d (1 - p_d)]`, of which
    the fit has followed its own posterior variance :math:`V = \mathrm{Var} \sum w_d p_d`: to first
    order :math:`\mathrm{Var}\, T = D - V`. Where little is relevant T is skewed, like a weighted
    Poisson count of mean :math:`m = D / c^2`, c the mean weight
    :math:`\sum w_d^3 v_d / \sum w_d^2 v_d` with
    :math:`v_d = \mathrm{E}[p_d (1 - p_d)]`. So the standardised difference is Anscombe's

    .. math:: z = 2 \left(\sqrt{m + T/c + 3/8} - \sqrt{m + 3/8}\right) \sqrt{D / (D - V)}

    which is :math:`T / \sqrt{D - V}` where much is expected; a standard error below one document
    counts as one. The distribution of the largest z of many groups comes from judgments that are
    drawn from the fit.

    Groups are the strata, the first of all topics together and so on (octaves of the fused rank
    where the design has none); the topics; classes of the number of runs that found a document; the
    first ten ranks of each run that the model was fitted to, and of all these together; and all
    documents. A judgment is of relevance, or for ``grade_model`` of a grade above the lowest.

    Parameters
    ----------
    fitted : DataTree
        Fit of ``relevance_model`` or ``grade_model``.
    sampled : DataTree
        Collection that the model was made from.
    random_seed : int
        For the judgments drawn from the fit.

    Returns
    -------
    Dataset
        Over ``group``, with coords ``kind`` (strata, topics, agreement, runs, relevant) and
        ``label``: ``observed`` and ``predicted`` numbers of relevant documents not judged,
        ``standard_error`` of their difference, ``difference`` (standardised), ``n_judged``; over
        ``group`` and ``replicate`` ``null``, standardised differences of judgments drawn from the
        fit.

    Raises
    ------
    ValueError
        A fit of a model that draws no documents, or of another collection.

    References
    ----------
    Gelman, Meng and Stern, "Posterior predictive assessment of model fitness", Statistica Sinica 6
    (1996). Anscombe, Biometrika 35 (1948). Cormack and Grossman (2019), equation 4.

    Examples
    --------
    >>> import bayeseval as be
    >>> whole = be.simulate.urn_collection([0.1, 0.2], n_topics=3, prevalence=0.1, random_seed=1)
    >>> design = be.designs.pps_strata(whole, budget=20, n_strata=4)
    >>> sampled = be.reveal(whole, design, be.draw(design, random_seed=1))
    >>> model = be.models.relevance_model(sampled)
    >>> fitted = be.fit(model, approximation="laplace", draws=100, random_seed=1)
    >>> found = be.inference.predicted_judgments(fitted, sampled)
    >>> [str(label) for label in found["label"].values[:3]]
    ['stratum 1', 'stratum 2', 'stratum 3']
    """
    check_fit(fitted)
    draws = kind_of_documents(fitted).draws(fitted, sampled, random_seed)
    return judgments_by(draws, random_seed)


@one_blas_thread()
def judgments_by(draws: RelevanceDraws, random_seed: int = 0) -> xr.Dataset:
    """What :func:`predicted_judgments` returns, of draws that are made already."""
    frame, random = draws.frame, np.random.default_rng(random_seed)
    n_rounds = -(-2000 // draws.n_draws)  # 2,000 replicates of the judgments, at least
    parts = []
    for topic, ranks in frame.topics():
        rows = np.flatnonzero(frame.topic == topic)
        known = ~np.isnan(frame.grade[0, rows])
        if known.any():
            weight = _weight(frame, rows[known])
            local = np.flatnonzero(ranks.in_frame)[known]
            share = draws.shares(topic, local)
            relevance = draws.relevant(frame.grade[0, rows[known]])
            groups = _groups(frame, topic, ranks, rows[known], local)
            parts.append((groups, weight, relevance, share, _replicated(share, n_rounds, random)))
    return _dataset([_summed(parts, number) for number in range(len(KINDS))])


def _weight(frame: Frame, rows: NDArray) -> NDArray[np.float64]:
    """Documents that each judged one stands for besides itself; 1 where no probability tells."""
    if frame.scheme not in BY_CHANCE:
        return np.ones(rows.size)
    return ratio(1.0, frame.sample.inclusion_probability[rows], 1.0) - 1.0


def _groups(
    frame: Frame, topic: int, ranks: TopicRanks, rows: NDArray, local: NDArray
) -> list[dict[tuple[int, str], NDArray[np.floating]]]:
    """Of each kind the groups, by order and label, and how each judged document counts in them."""
    rank = ranks.run_rank[local]
    top = ((rank > 0) & (rank <= TOP)).astype(float)
    name = frame.collection["run"].to_numpy()[frame.run].tolist()
    labels = {(run, name[run]): top[:, run] for run in range(len(name))}
    return [
        _by(_strata(frame, topic, ranks, rows, local)),
        _by([(topic, f"topic {frame.collection['topic'].to_numpy()[topic]}")] * rows.size),
        _by([_class(number, rank.shape[1]) for number in (rank > 0).sum(axis=1).tolist()]),
        labels | {(len(name), "all runs"): top.sum(axis=1)},
        {(0, "all documents"): np.ones(rows.size)},
    ]


def _by(labels: list[tuple[int, str]]) -> dict[tuple[int, str], NDArray[np.floating]]:
    """Groups of documents that each belong to one."""
    number = {label: place for place, label in enumerate(sorted(set(labels)))}
    own = np.array([number[label] for label in labels])
    return {label: (own == place).astype(float) for label, place in number.items()}


def _strata(
    frame: Frame, topic: int, ranks: TopicRanks, rows: NDArray, local: NDArray
) -> list[tuple[int, str]]:
    """Place of a document's stratum in its topic, or without strata the octave of its rank."""
    inside = frame.topic == topic
    stratum = frame.sample.stratum[inside]
    if (stratum < 0).any():
        octave = np.floor(np.log2(ranks.fused_rank[local])).astype(int).tolist()
        return [(power, f"ranks {2**power} to {2 ** (power + 1) - 1}") for power in octave]
    label, inverse = np.unique(stratum, return_inverse=True)
    mean = np.bincount(inverse, ranks.fused_rank[ranks.in_frame]) / np.bincount(inverse)
    place = np.argsort(np.argsort(mean, kind="stable"), kind="stable") + 1
    own = place[np.searchsorted(label, frame.sample.stratum[rows])]
    return [(number, f"stratum {number}") for number in own.tolist()]


def _class(number: int, n_runs: int) -> tuple[int, str]:
    """Class of a number of runs: 0, 1, 2, 3 to 4, 5 to 8, ..., the last up to all of them."""
    if number <= 2:
        return number, f"found by {counted(number, 'run')}"
    power = (number - 1).bit_length()
    least, most = 2 ** (power - 1) + 1, min(2**power, n_runs)
    return power + 1, f"found by {least if least == most else f'{least} to {most}'} runs"


def _replicated(share: NDArray, n_rounds: int, random: np.random.Generator) -> NDArray[np.float32]:
    """Judgments drawn from the fit less their probabilities (document, replicate)."""
    rounds = [
        (random.random(share.shape, dtype=np.float32) < share) - share.astype(np.float32)
        for _ in range(n_rounds)
    ]
    return np.concatenate(rounds, axis=1)


def _summed(parts: list, number: int) -> tuple[list[tuple[int, str]], _Sums]:
    """Groups of a kind, and their sums over all topics."""
    groups = sorted({label for part in parts for label in part[0][number]})
    place = {label: row for row, label in enumerate(groups)}
    n_draws, n_replicates = parts[0][3].shape[1], parts[0][4].shape[1]
    shapes = ((), (n_draws,), (), (), (n_replicates,), ())
    sums = _Sums(*(np.zeros((len(groups), *shape)) for shape in shapes))
    for kinds, weight, relevance, share, drawn in parts:
        rows = [place[label] for label in kinds[number]]
        inside = np.array(list(kinds[number].values()))
        member = inside * weight
        spread = (share * (1.0 - share)).mean(axis=1)
        sums.observed[rows] += member @ relevance
        sums.predicted[rows] += member @ share
        sums.variance[rows] += member**2 @ spread
        sums.cubed[rows] += member**3 @ spread
        sums.replicated[rows] += member @ drawn
        sums.count[rows] += (inside > 0).sum(axis=1)
    return groups, sums


def _dataset(of_kinds: list[tuple[list[tuple[int, str]], _Sums]]) -> xr.Dataset:
    """Sums of all kinds of groups, under their labels."""
    whole = _Sums(
        *(np.concatenate(part) for part in zip(*(sums for _, sums in of_kinds), strict=True))
    )
    follows = whole.predicted.var(axis=1)
    # at least .4 of the variance is left, however closely the fit has followed the data
    unexplained = np.maximum(whole.variance - follows, 0.4 * whole.variance)
    predicted = whole.predicted.mean(axis=1)
    size = ratio(whole.cubed, whole.variance)
    # a standard error below one document counts as one, since no score turns on it
    scale = np.sqrt(whole.variance / np.maximum(unexplained, 1.0))
    own_scale = np.sqrt(whole.variance / np.maximum(whole.variance, 1.0))[:, None]
    count = ratio(whole.variance, size**2)
    difference = scale * _anscombe(ratio(whole.observed - predicted, size), count)
    null = own_scale * _anscombe(ratio(whole.replicated, size[:, None]), count[:, None])
    kinds = [kind for kind, (groups, _) in zip(KINDS, of_kinds, strict=True) for _ in groups]
    return xr.Dataset(
        {
            "observed": ("group", whole.observed),
            "predicted": ("group", predicted),
            "standard_error": ("group", np.sqrt(unexplained)),
            "difference": ("group", difference),
            "n_judged": ("group", whole.count.astype(np.int64)),
            "null": (("group", "replicate"), null.astype(np.float32)),
        },
        coords={
            "kind": ("group", kinds),
            "label": ("group", [label for groups, _ in of_kinds for _, label in groups]),
        },
    )


def _anscombe(off: NDArray, count: NDArray) -> NDArray[np.float64]:
    """Difference of a count from its expectation, of variance near 1 where that is above 1."""
    root = np.sqrt(np.maximum(count + off, 0.0) + 0.375)
    return 2.0 * (root - np.sqrt(count + 0.375))
