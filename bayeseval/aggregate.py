"""Mean scores of one run as ``ir_measures`` gives them, with intervals."""

import warnings
from typing import Any

import xarray as xr

from bayeseval.designs import attach_judgments
from bayeseval.evaluation import default_population, evaluate, mean_over_topics
from bayeseval.measures.names import parse_measures
from bayeseval.messages import TopicsUnranked
from bayeseval.tidy import BOUNDS, with_bounds
from bayeseval.trec import read_collection

READING = ("negative_grades", "depth", "on_duplicate", "score_type")  # of read_collection
COUNTS = ("NumRel", "NumRelRet", "NumRet")  # of which ir_measures gives sums


class Score(float):
    """A mean score that knows its interval, NaN where there is none; a float to everything else."""

    standard_error: float
    lower: float
    upper: float

    def __new__(cls, estimate: float, standard_error: float, lower: float, upper: float):
        """Keep the estimate as the value."""
        score = super().__new__(cls, estimate)
        score.standard_error, score.lower, score.upper = standard_error, lower, upper
        return score

    def __getnewargs__(self) -> tuple[float, float, float, float]:
        """What a copy is made from."""
        return float(self), self.standard_error, self.lower, self.upper


def calc_aggregate(
    measures: Any,
    qrels: Any,
    run: Any,
    *,
    estimator: str = "assumed",
    population: str | None = None,
    ci_prob: float = 0.9,
    design: Any = None,
    qrels_format: str = "qrels",
    **options: Any,
) -> dict[Any, Score]:
    """Mean scores of one run with intervals, to replace ``ir_measures.calc_aggregate``.

    The values are those of ir_measures where judgments are taken as they are (``assumed``): means,
    and of the counts (NumRet, NumRel, NumRelRet) sums over topics. But NumRel counts the relevant
    documents of topics that the run lacks, too; grades below 0 are not judged, and topics without
    others have no score, unless ``negative_grades="judged"`` is given; and RR@k breaks ties of
    scores as trec_eval does, not as the script of MS MARCO. Each is a float that also has
    ``standard_error``, ``lower`` and ``upper``. By default the intervals are for the population
    that the topics stand for (Student's t), and know nothing of documents that nobody judged; with
    a ``design`` and ``estimator="dyn"`` they are those of the sample.

    Parameters
    ----------
    measures : list of str or ir_measures objects, or one
    qrels, run
        As :func:`read_collection` takes them: paths, frames, dicts, iterables of named tuples.
    estimator : str
        As of :func:`evaluate`.
    population : {"sample", "topics"}, optional
        As of :func:`mean_over_topics`. Default: "sample" for ``stat`` and ``dyn``, else "topics".
    ci_prob : float
        Coverage of the intervals.
    design : Dataset or path, optional
        Design whose judgments ``qrels`` holds.
    qrels_format : str
        As of :func:`read_collection`.
    **options
        Of :func:`evaluate`, and ``negative_grades``, ``depth``, ``on_duplicate`` and
        ``score_type`` of :func:`read_collection`.

    Returns
    -------
    dict of measure -> Score
        Keys are the measures as they were given.

    Raises
    ------
    ValueError
        As :func:`read_collection` and :func:`evaluate`; several runs, which :func:`evaluate` takes.

    References
    ----------
    MacAvaney, Macdonald and Ounis, Streamlining evaluation with ir-measures, ECIR 2022,
    doi:10.1007/978-3-030-99739-7_38.

    Examples
    --------
    >>> import bayeseval as be
    >>> qrels = {"1": {"a": 1, "b": 0}, "2": {"c": 1}}
    >>> run = {"1": {"a": 2.0, "b": 1.0}, "2": {"d": 2.0, "c": 1.0}}
    >>> scores = be.calc_aggregate(["P@1", "RR"], qrels, run)
    >>> scores["RR"], round(scores["RR"].standard_error, 3)
    (0.75, 0.25)
    """
    asked = list(measures) if isinstance(measures, list | tuple | set) else [measures]
    reading = {name: options.pop(name) for name in READING if name in options}
    if design is None:
        collection = read_collection(qrels, run, qrels_format=qrels_format, **reading)
    else:
        graded = {name: reading[name] for name in ("negative_grades",) if name in reading}
        collection = read_collection(None, run, **reading)
        collection = attach_judgments(collection, design, qrels, **graded)
    if collection.sizes["run"] != 1:
        raise ValueError(
            f"calc_aggregate takes one run, and there are {collection.sizes['run']}; score several "
            "with be.evaluate and be.mean_over_topics"
        )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TopicsUnranked)  # ir_measures scores them 0 too
        scores = evaluate(collection, asked, estimator=estimator, ci_prob=ci_prob, **options)
    about = population or default_population(estimator)
    mean = mean_over_topics(scores, population=about, ci_prob=ci_prob).isel(run=0)
    counts = [measure.name in COUNTS for measure in parse_measures(asked)]
    number = xr.where(xr.DataArray(counts, dims="measure"), mean["n_topics"], 1)
    flat = number * with_bounds(mean)[["estimate", "standard_error", *BOUNDS]]
    columns = (values.to_numpy().tolist() for values in flat.values())
    return dict(zip(asked, map(Score, *columns), strict=True))
