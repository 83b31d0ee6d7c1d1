"""Which fit of the counts of a sample is taken, and what is said of it."""

import warnings
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from bayeseval.estimators.counts.cells import Counts
from bayeseval.estimators.counts.few import FewFit, are_few
from bayeseval.estimators.counts.kinds import KindsFit
from bayeseval.estimators.counts.model import CountFit
from bayeseval.estimators.counts.scattered import ScatteredFit

OVERDISPERSED = 1.2  # squared errors over those of chance, and standard deviations from them,
SEEN = 2.5  # above which the curves do not describe the topics
CLEAR = 1.5  # log of how much likelier a share of topics without any must make the counts
DECISIVE = 5.0  # log of how much likelier a fit must make the counts, both ways
OF_KINDS = 2.5  # the same of two kinds of topics, each topic judged by the others,
NAVIGATIONAL = 3.5, 15.0  # with normal topics, and so that others may find it as much less likely
SURE = 8.0  # the same of a slope that is taken, each topic judged by the others,
PER_JUDGMENT = 13.0 / 200.0  # or for each judgment of a topic: small misfits add up
SCATTERED = 13.0  # log of how much likelier scattered documents must make the counts, both ways,
PER_TOPIC = SCATTERED / 60.0  # and for each topic: small misfits of many topics add up
FAR = 5.0  # and that by what a slope that levels off makes them, each topic judged by the others


class CountsUnlike(UserWarning):
    """Relevant documents are not where the model of their numbers would have them."""


def fit_counts(
    counts: Counts,
    levelling: NDArray[np.float64],
    *,
    shows_none: NDArray[np.bool_] | None = None,
    lowest: bool = True,
    left: NDArray[np.float64] | None = None,
) -> CountFit | FewFit:
    """Fit of the counts, by the slope that they show, or by the numbers where these are few.

    Where topics have few relevant documents and the counts are likelier by :class:`.few.FewFit`,
    that is the fit: where each has one, a second is then not looked for, and where all of a topic's
    are at the top of the lists, few are looked for below.

    Of relevant documents some have a higher grade in most topics and none in others, so that above
    the lowest level a share of the topics has none. At the lowest level every topic has some,
    unless the counts are clearly likelier with such a share: exp(2.3) to exp(8) times where a third
    of the topics has nothing relevant, exp(.5) and less on thirteen collections where all have some
    (30 and 100 judgments).

    Where navigational topics stand beside others (:class:`.kinds.KindsFit`) two kinds make the
    counts exp(11) to exp(140) times as likely with topics taken for normal, and where all others
    are hard exp(2) to exp(15) times. Where there are none they are exp(3) times as likely at most,
    exp(5) once where a third of the topics has nothing, and up to exp(13) times where hard topics
    stand beside rich ones. So exp(15) is asked for, and with each topic judged by the others no
    less than exp(-2.5); or exp(3.5) and exp(2.5). That passes over a third of the samples in which
    all others are hard (50 and 100 judgments).

    Topics mostly differ along the whole of their lists. Where runs are noisy and topics of very
    different hardness they differ near their tops, and what noise spreads over the rest of the
    lists is much alike: a slope that levels off takes the usual one's place where it makes the
    counts (at the modes of the hyperparameters) at least exp(8) times as likely with each topic
    judged by the others, and at least exp(13 n / 200) times where n sampled documents of a topic
    tell them (exp(12) is seen with 200 where the usual one errs less), and not less likely with
    topics taken for normal. But where normal topics are likelier still the sooner it levels off, by
    however little, as where spam leads some lists, no slope describes them, and the usual one
    stays. A slope by which nothing was found is passed over.

    Where systems match exactly, lists end abruptly, and what no system finds lies anywhere: a share
    of scattered documents (:class:`.scattered.ScatteredFit`) comes before any slope if it makes the
    counts exp(13) times as likely, and exp(13 / 60) times for each topic, with normal topics and
    with each judged by the others, and by the latter its log is above five times that of the slope
    that levels off later (where runs are noisy both are large, and scattered documents wrong).

    What else was tried: ``benchmarks/interval_coverage/TRIED.md``.

    ``levelling`` (2, cell) are slopes that level off, later and sooner; the second is taken in the
    place of the first where it is likelier, each topic judged by the others, and as clearly
    likelier than the usual one. ``shows_none`` (topic,) are topics whose judged documents hold
    none, by default no topic; ``lowest`` says that this is the lowest level of relevance, and not
    one among another's documents; ``left`` (cell,) are documents that were not sampled, where the
    sampled ones of all cells are like them. A warning says that the fit did not converge or, at the
    lowest level (above it topics are of documents that are relevant), that no slope describes the
    topics.
    """
    lacking = None if lowest else shows_none
    usual = CountFit(counts, shows_none=lacking)
    if left is not None and are_few(counts, left):
        few = FewFit(counts, left)
        if few.converged and few.log_density > usual.log_density:
            return few
    if lowest and shows_none is not None and np.count_nonzero(shows_none) > 1:
        with_none = CountFit(counts, shows_none=shows_none)
        if with_none.converged and with_none.log_density - usual.log_density > CLEAR:
            usual, lacking = with_none, shows_none
    if not usual.converged:
        warnings.warn(
            "the model of the numbers of relevant documents did not converge, so ratios (AP, "
            "nDCG, R@k, Rprec) may be off; denominator 'topic' does without it",
            stacklevel=2,
        )
        return usual
    if lowest and left is not None:
        kinds = KindsFit(counts, left)
        if _are_of_kinds(kinds, usual):
            return kinds
    later = CountFit(replace(counts, slope=levelling[0]), shows_none=lacking)
    if lowest and left is not None:
        scattered = ScatteredFit(counts, counts.sampled + left, usual, shows_none=lacking)
        if _are_scattered(scattered, usual, later):
            return scattered
    wanted = max(SURE, PER_JUDGMENT * counts.sampled.sum() / usual.n_topics)
    levels_off = _clearly_likelier(later, usual, wanted, normal=0.0)
    if not levels_off and not _clearly_likelier(later, usual):
        return usual
    sooner = CountFit(replace(counts, slope=levelling[1]), shows_none=lacking)
    best = _levelling_off(usual, later, sooner, told=lowest)
    return best if _clearly_likelier(best, usual, wanted, normal=0.0) else usual


def _are_of_kinds(kinds: KindsFit, usual: CountFit) -> bool:
    """Whether some topics are navigational."""
    clear, sure = NAVIGATIONAL
    return _clearly_likelier(kinds, usual, OF_KINDS, normal=clear) or _clearly_likelier(
        kinds, usual, -OF_KINDS, normal=sure
    )


def _are_scattered(scattered: ScatteredFit, usual: CountFit, later: CountFit) -> bool:
    """Whether scattered documents make the counts far likelier, and no slope nearly as much."""
    if not _clearly_likelier(scattered, usual, max(SCATTERED, PER_TOPIC * usual.n_topics)):
        return False
    rise = later.evidence - usual.evidence if later.converged else 0.0
    return scattered.evidence - usual.evidence > FAR * rise


def _levelling_off(usual: CountFit, later: CountFit, sooner: CountFit, *, told: bool) -> CountFit:
    """The better one of two that level off; the usual slope where none describes the topics."""
    if sooner.log_density > later.log_density:
        if told:
            warnings.warn(
                "topics differ at the very tops of their lists and hardly below, as where spam "
                "leads some of them, which the model of the numbers of relevant documents does not "
                "describe: AP, R@k and Rprec may be off by more than a standard error; with "
                "denominator 'topic' they often are too",
                CountsUnlike,
                stacklevel=3,
            )
        return usual
    better = _clearly_likelier(sooner, usual) and sooner.evidence > later.evidence
    return sooner if better else later


def warn_of_dispersion(fit: CountFit | FewFit) -> None:
    """Say that topics' curves do not describe where relevant documents are."""
    if isinstance(fit, FewFit):
        return
    ratio, deviations = fit.dispersion
    if ratio > OVERDISPERSED and deviations > SEEN:
        warnings.warn(
            "relevant documents stand in bursts or end abruptly in the lists, as where systems "
            "match exactly or near-duplicates follow each other, which the model of the numbers "
            "of relevant documents does not describe: AP, R@k and Rprec may be off by more than a "
            "standard error, with denominator 'topic' mostly by more",
            CountsUnlike,
            stacklevel=2,
        )


def _clearly_likelier(
    fit: CountFit, usual: CountFit, by: float = DECISIVE, *, normal: float | None = None
) -> bool:
    """Whether a fit makes the counts far likelier by both distributions of the topics.

    ``normal`` is the log of how much likelier it must be with normal topics, if not the same.
    """
    return (
        fit.converged
        and fit.log_density - usual.log_density > (by if normal is None else normal)
        and fit.evidence - usual.evidence > by
    )
