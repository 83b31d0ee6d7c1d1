"""Estimators that take judgments as they are: unjudged is non-relevant, or is not there."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bayeseval.collection.choices import check_whole_numbers
from bayeseval.estimators.relevance import check_no_predictor
from bayeseval.estimators.topic_scores import ListScore
from bayeseval.frame.frame import Frame
from bayeseval.frame.rankings import TopicLists
from bayeseval.frame.sample import Sample
from bayeseval.measures.measure import Measure, relevance
from bayeseval.measures.scores import plain_scores, preference_scores


@dataclass(frozen=True, eq=False)
class JudgedRelevance:
    """Relevance of the judged pairs, 0 for those not judged: complete columns, nothing random."""

    sample: Sample  # the judged pairs as a frame
    grade: NDArray[np.floating]  # (replicate, frame_pair): grades, NaN where not judged

    def values(self, topic: int | slice, measure: Measure) -> NDArray[np.float64]:
        """Relevance of a topic's, or several topics', frame pairs as a measure sees it.

        Dims (pair, replicate).
        """
        seen = relevance(measure, self.grade[:, self.sample.of_topics(topic)])
        return np.ascontiguousarray(np.where(np.isnan(seen), 0.0, seen).T)


def assumed(frame: Frame, predictor, random_seed: int, denominator: str) -> JudgedRelevance:
    r"""Relevance of the judged pairs, 0 for all others.

    .. math:: assumed = \sum_i weight_i \, rel(d_i) \, 1[d_i \in J]

    Estimand: the score under complete judgments. Nothing is random to it, so it has no design
    variance. It equals the estimand where every relevant document that counts was judged, and is
    biased downwards otherwise, most for runs whose documents were not pooled.
    """
    check_no_predictor("assumed", predictor)
    return JudgedRelevance(frame.sample, frame.grade)


@dataclass(frozen=True)
class CondensedOptions:
    """Options of estimator "condensed".

    Of a run the first ``depth`` ranks are looked at. By default all of them: judged documents from
    below the measure's cutoff move up into it (the extension of Webber and Park, section 2.1). With
    the pool depth they come from the pooled ranks alone. Places that stay empty count as
    non-relevant.
    """

    depth: int | None = None

    def __post_init__(self) -> None:
        if self.depth is not None:
            check_whole_numbers(1, depth=self.depth)


def condensed_list(
    measure: Measure, topic: TopicLists, options: CondensedOptions = CondensedOptions()
) -> ListScore:
    r"""Scores of the runs after their unjudged documents are removed and the others moved up.

    .. math:: condensed = measure(d_{(1)}, d_{(2)}, \dots), \quad
              d_{(j)} = \text{the } j\text{-th judged document of the run}

    Estimand: the score under complete judgments. Nothing is random to it, so it has no variance.
    It equals the estimand where every retrieved document was judged, and is about right where the
    judged documents are a simple random sample of the retrieved ones (each with the same chance,
    whatever its rank). It is biased upwards where documents that only the run retrieves are left
    unjudged, for those are relevant less often than the pooled ones that take their places; and
    where judging favoured likely relevant documents. A run without a judged document scores 0.
    Bpref is the same with and without condensing, and Judged is 1. Cost: one pass over the
    rankings per replicate.

    References
    ----------
    Sakai, Alternatives to Bpref, SIGIR 2007, doi:10.1145/1277741.1277756. Sakai, Comparing metrics
    across TREC and NTCIR: the robustness to system bias, CIKM 2008, doi:10.1145/1458082.1458159.
    Webber and Park, Score adjustment for correction of pooling bias, SIGIR 2009,
    doi:10.1145/1571941.1572018.
    """
    from bayeseval.measures.rank_sums import condensed_positions

    n_ranks = topic.position.shape[1]
    depth = options.depth or n_ranks
    reach = n_ranks if measure.cutoff is None else measure.cutoff
    columns = []
    for grade in topic.grade:
        judged = np.flatnonzero(~np.isnan(grade))
        place = np.full(grade.size, -1)
        place[judged] = np.arange(judged.size)
        width = min(reach, judged.size)
        position = condensed_positions(topic.position, place, depth, width)
        columns.append(_plain(measure, position, grade[judged], topic.pooled[judged]))
    return ListScore(np.stack(columns, axis=1))


def _plain(measure: Measure, position, grade, pooled) -> NDArray[np.float64]:
    """Plain scores (run,) of condensed lists, where every document has a grade."""
    if measure.kind == "preference":
        return preference_scores(measure, position, grade, pooled)
    return plain_scores(measure, position, relevance(measure, grade)[:, None])[:, 0]
