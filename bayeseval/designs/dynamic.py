"""Dynamic sampling: a stratified sample in stages, each stratified by the judgments before it."""

from dataclasses import dataclass

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from bayeseval.collection import pair_positions
from bayeseval.collection.choices import check_choice, check_seed, check_whole_numbers
from bayeseval.collection.labels import pair_names, row_of_pair
from bayeseval.collection.schema import describe_pair, design_parameters, strata, with_predictors
from bayeseval.designs.placing import design_rows
from bayeseval.designs.pooling import grades_so_far
from bayeseval.designs.prepared import check_budget, labelled_design, prepared_frame
from bayeseval.designs.stratified import allocated, exponential_sizes, warn_of_fewer
from bayeseval.frame.features import discount, log_ranks
from bayeseval.frame.rankings import Rankings, contributing_runs
from bayeseval.processors import one_blas_thread
from bayeseval.regression.ridge_logistic import Penalty, TopicRows, logits, ridge_logistic

RANK_PENALTY = (0.0, 0.1, 1.0)  # intercept, log of the fused rank, its square
TOPIC_PENALTY = (1.0, 3.0)  # intercept of a topic, its slope on the log of the fused rank


@dataclass(frozen=True, eq=False)
class RankedFrame:
    """The frame (frame_pair,) of a collection with the features that a stage learns from."""

    pair: NDArray[np.int64]  # positions in the collection, ascending
    topic: NDArray[np.int64]
    fused_rank: NDArray[np.int64]  # from 1 among the topic's frame, by reciprocal-rank fusion
    # (frame_pair, feature): 1, x, which is the log of the fused rank less its mean, x squared, then
    # the discounted rank in every run
    features: NDArray[np.float32]
    n_topics: int


@dataclass(frozen=True, eq=False)
class StagePlan:
    """What is fixed before the first draw: the frame and its strata (stratum_id,).

    Strata come topic by topic, from the top down.
    """

    frame: RankedFrame
    size: NDArray[np.int64]
    drawn: NDArray[np.int64]  # how many of the documents
    topic: NDArray[np.int32]
    stage: NDArray[np.int32]
    aim: str  # what the order of documents within a topic is good for, as for ``dynamic_stage``
    prior: float  # probability of relevance predicted in the first stage

    @property
    def n_stages(self) -> int:
        """Stages that have a stratum: small frames have fewer strata than were asked for."""
        return int(self.stage.max()) + 1


@dataclass(frozen=True, eq=False)
class StagedSample:
    """A sample as far as its stages have come, over the frame pairs (frame_pair,)."""

    stratum: NDArray[np.int32]  # -1 where the pair has none yet
    selected: NDArray[np.bool_]
    predicted: NDArray[np.float64]  # relevance, before the pair's stage was drawn; NaN until then


def dynamic_stage(
    collection: xr.DataTree,
    previous: xr.Dataset | None = None,
    *,
    budget: int,
    n_strata: int = 20,
    n_stages: int = 5,
    aim: str = "dyn",
    frame: str | xr.DataArray = "retrieved",
    pool_depth: int | None = None,
    relevance_level: int = 1,
    prior: float = 0.5,
    runs: list[str] | None = None,
    random_seed: int | None,
) -> xr.Dataset:
    r"""Next stage of a dynamic sample: the pairs to judge now, given the judgments so far.

    Judge the ``selected`` pairs, join all judgments so far with ``attach_judgments``, and ask again
    with the design as ``previous``, until its attribute ``stages_left`` is 0. A simulation gives a
    collection with complete judgments each time: only grades of selected pairs are used.

    Per topic, the sizes of the strata and the numbers drawn are those of :func:`pps_strata`. A
    stage cuts the next strata from the top of the remaining documents. The first stage orders them
    by reciprocal-rank fusion. Each later stage fits a logistic regression to all judgments so far,
    on the fused rank, the rank in every run and the topic, and orders the documents by their size

    .. math:: \frac{\sqrt{p (1 - p)}}{rank} \;\text{(aim "dyn")}, \qquad
              \frac{\sqrt{p}}{rank} \;\text{("stat")}, \qquad p \;\text{("relevant")}

    with p the predicted probability of relevance. The first two follow the variance of the
    estimator; the third finds relevant documents early, and estimates worse.

    Parameters
    ----------
    collection : DataTree
        Rankings, and the judgments so far; none at the first stage.
    previous : Dataset, optional
        The design after the stage before.
    budget : int
        Judgments per topic, in all stages together.
    n_strata, n_stages : int
        Strata and stages per topic, at most; small budgets and small frames have fewer.
    aim : {"dyn", "stat", "relevant"}
        Purpose of the order, see above.
    frame, pool_depth, runs
        As for :func:`pps_strata`.
    relevance_level : int
        Least grade that counts as relevant to the regression.
    prior : float
        Probability of relevance predicted in the first stage.
    random_seed : int or None
        Seed of the draws. All options are the same at every stage.

    Returns
    -------
    Dataset
        The design of the stages so far, stratified and with its sample ``selected``;
        ``predicted_relevance`` over pair is p before the stage of the pair, ``stratum_stage`` over
        stratum_id is its stage. Pairs of later stages have inclusion probability 0.

    Raises
    ------
    ValueError
        A selected pair without a grade; a previous design that is complete or has another plan.

    References
    ----------
    After Cormack and Grossman, "Beyond pooling", SIGIR 2018, doi:10.1145/3209978.3210119.

    Examples
    --------
    >>> import pandas as pd, bayeseval as be
    >>> run = pd.DataFrame({"run": "a", "topic": "1", "document": list("abcdefgh")})
    >>> collection = be.read_collection(None, run.assign(score=range(8)))
    >>> options = {"budget": 4, "n_strata": 2, "n_stages": 2, "random_seed": 1}
    >>> first = be.designs.dynamic_stage(collection, **options)
    >>> first.document.values[first.selected], first.attrs["stages_left"]
    (array(['g', 'h'], dtype='<U1'), 1)
    >>> qrels = pd.DataFrame({"topic": "1", "document": ["g", "h"], "grade": [0, 1]})
    >>> judged = be.attach_judgments(collection, first, qrels)
    >>> second = be.designs.dynamic_stage(judged, first, **options)
    >>> int(second.selected.sum()), second.stratum_stage.values, second.attrs["stages_left"]
    (4, array([0, 1], dtype=int32), 0)
    """
    parameters, plan = planned(
        collection,
        budget=budget,
        n_strata=n_strata,
        n_stages=n_stages,
        aim=aim,
        frame=frame,
        pool_depth=pool_depth,
        prior=prior,
        relevance_level=relevance_level,
        runs=runs,
    )
    sample, stage = empty_sample(plan), 0
    relevant = np.zeros(plan.frame.pair.size, dtype=bool)
    if previous is not None:
        stage = _stages_done(previous, plan.n_stages, parameters)
        sample = _earlier_sample(collection, plan, previous, stage)
        relevant = _graded(collection, plan, sample) >= relevance_level
    sample = opened_stage(plan, sample, stage, relevant)
    sample = drawn_stage(plan, sample, stage, random_seed)
    return staged_design(collection, plan, sample, stage + 1, parameters, random_seed)


def with_stage_predictions(
    collection: xr.DataTree, design: xr.Dataset, *, name: str = "dynamic_sampling"
) -> xr.DataTree:
    """Collection with the predictions of a dynamic sample's stages as predictors.

    With ``estimator="dyn", predictor=("external", "dynamic_sampling")`` the prediction M uses
    earlier stages only, so that ``dyn`` is exactly unbiased for linear measures of the relevance
    level of the design.

    Parameters
    ----------
    collection : DataTree
        Any collection with the pairs of the design's frame, such as ``reveal`` returns.
    design : Dataset
        The design that :func:`dynamic_stage` returned last.
    name : str
        Name of the column.

    Returns
    -------
    DataTree
        The collection with the column added; NaN for pairs outside the design's strata.

    Raises
    ------
    ValueError
        A design without predictions.

    Examples
    --------
    >>> import bayeseval as be
    >>> collection = be.simulate.urn_collection([0.1, 0.4], n_topics=2, n_relevant=9, random_seed=1)
    >>> options = {"budget": 40, "n_strata": 8, "n_stages": 2, "random_seed": 2}
    >>> first = be.designs.dynamic_stage(collection, **options)
    >>> design = be.designs.dynamic_stage(collection, first, **options)
    >>> sampled = be.designs.with_stage_predictions(be.reveal(collection, design), design)
    >>> M = ("external", "dynamic_sampling")
    >>> be.evaluate(sampled, "P@10", estimator="dyn", predictor=M).estimate.shape
    (1, 2, 2)
    """
    if "predicted_relevance" not in design:
        raise ValueError(
            f"design '{design.attrs.get('name')}' has no predicted_relevance; dynamic_stage "
            "makes one that has"
        )
    row = design_rows(collection, design)
    values = np.where(row >= 0, design["predicted_relevance"].to_numpy()[row], np.nan)
    return with_predictors(collection, {name: ("pair", values)})


def planned(
    collection, *, budget, n_strata, n_stages, aim, frame, pool_depth, prior, relevance_level, runs
) -> tuple[dict, StagePlan]:
    """Attributes of the design, and the plan of its stages."""
    check_budget(budget)
    check_whole_numbers(1, relevance_level=relevance_level)
    _check_options(n_strata, n_stages, aim, prior)
    n_used = min(n_strata, budget)
    warn_of_fewer(np.array([n_used]), n_strata)
    start = prepared_frame(collection, budget, frame, pool_depth, None, runs)
    numbers = {"n_strata": int(n_used), "n_stages": int(min(n_stages, n_used))}
    parameters = start["parameters"] | numbers | {"aim": aim, "prior": prior}
    plan = stage_plan(collection, start["rest"], contributing_runs(collection, runs), parameters)
    return parameters | {"relevance_level": float(relevance_level)}, plan


def _check_options(n_strata, n_stages, aim, prior) -> None:
    check_whole_numbers(1, n_strata=n_strata)
    if not isinstance(n_stages, int | np.integer) or not 1 <= n_stages <= n_strata:
        raise ValueError(
            f"n_stages must be a whole number from 1 to the number of strata, {n_strata}, not "
            f"{n_stages!r}"
        )
    check_choice("aim", aim, ("dyn", "stat", "relevant"))
    if not 0.0 < prior < 1.0:
        raise ValueError(f"prior must lie between 0 and 1, both excluded, not {prior}")


def staged_design(
    collection, plan: StagePlan, sample: StagedSample, n_stages: int, parameters, random_seed
) -> xr.Dataset:
    """Design of the first ``n_stages`` stages, with its sample; their strata alone are in it."""
    here, n_pairs = plan.frame.pair, collection.sizes["pair"]
    kept = np.flatnonzero(plan.stage < n_stages)
    number = np.append(np.searchsorted(kept, np.arange(plan.stage.size)), -1).astype(np.int32)
    stratum = np.full(n_pairs, -1, dtype=np.int32)
    stratum[here] = number[sample.stratum]
    selected = np.zeros(n_pairs, dtype=bool)
    selected[here] = sample.selected
    predicted = np.full(n_pairs, np.nan)
    predicted[here] = sample.predicted
    variables = strata(stratum, plan.size[kept], plan.drawn[kept], plan.topic[kept]) | {
        "stratum_stage": ("stratum_id", plan.stage[kept]),
        "selected": ("pair", selected),
        "predicted_relevance": ("pair", predicted),
    }
    design = labelled_design(collection, variables, "stratified", "dynamic_sampling", parameters)
    design = design.assign_attrs(stages_left=max(0, plan.n_stages - n_stages))
    return design if random_seed is None else design.assign_attrs(seed=int(random_seed))


def _stages_done(previous: xr.Dataset, n_stages: int, parameters: dict) -> int:
    if previous.attrs.get("name") != "dynamic_sampling" or "stratum_stage" not in previous:
        raise ValueError("previous must be a design that dynamic_stage returned")
    before = design_parameters(previous)
    for name, value in parameters.items():
        if before.get(name) != value:
            raise ValueError(
                f"previous was planned with {name}={before.get(name)!r} and now {name} is "
                f"{value!r}; all stages need the same plan"
            )
    done = int(previous["stratum_stage"].max()) + 1
    if done == n_stages:
        raise ValueError(f"previous has all of its {n_stages} stages: nothing is left to draw")
    return done


def _earlier_sample(collection, plan: StagePlan, previous: xr.Dataset, stage: int) -> StagedSample:
    """Strata, draws and predictions of the stages before, by label."""
    row = pair_positions(previous, *pair_names(collection, plan.frame.pair))
    kept = np.flatnonzero(plan.stage < stage)
    known = previous["stratum"].to_numpy()[row]
    number = np.where((row >= 0) & (known >= 0), known, -1)
    counts = np.bincount(number[number >= 0], minlength=previous.sizes["stratum_id"])
    if not (
        np.array_equal(plan.size[kept], previous["stratum_size"].to_numpy())
        and np.array_equal(plan.size[kept], counts)
    ):
        raise ValueError(
            "previous does not fit the collection: its strata are not those of this frame; every "
            "stage needs the same topics, runs and frame"
        )
    inside = number >= 0
    return StagedSample(
        np.where(inside, np.append(kept, -1)[number], -1).astype(np.int32),
        inside & previous["selected"].to_numpy().astype(bool)[row],
        np.where(inside, previous["predicted_relevance"].to_numpy()[row], np.nan),
    )


def _graded(collection: xr.DataTree, plan: StagePlan, sample: StagedSample) -> np.ndarray:
    """Grades over the frame; every pair selected so far must have one."""
    grade = grades_so_far(collection, "dynamic_stage")[plan.frame.pair]
    missing = np.flatnonzero(sample.selected & np.isnan(grade))
    if missing.size:
        raise ValueError(
            f"{missing.size} selected pairs have no grade yet, the first is "
            f"{describe_pair(collection, int(plan.frame.pair[missing[0]]))}; a stage learns from "
            "all judgments of the stages before"
        )
    return grade


def stage_plan(collection: xr.DataTree, order: list, runs: np.ndarray, options: dict) -> StagePlan:
    """Plan of a frame in fused order: exponential strata, dealt into stages from the top down."""
    budget, n_strata = options["budget"], options["n_strata"]
    sizes = [
        exponential_sizes(pairs.size, n_strata, max(1, -(-budget // n_strata))) for pairs in order
    ]
    numbers = np.concatenate([np.arange(each.size) for each in sizes])
    ranking = Rankings.of(collection, runs).pair
    return StagePlan(
        ranked_frame(order, ranking, collection["pair_topic"].to_numpy()),
        np.concatenate(sizes),
        np.concatenate([allocated(each, budget) for each in sizes]),
        np.repeat(np.arange(len(order)), [each.size for each in sizes]).astype(np.int32),
        (numbers * options["n_stages"] // n_strata).astype(np.int32),
        options["aim"],
        options["prior"],
    )


def empty_sample(plan: StagePlan) -> StagedSample:
    """The sample before the first stage."""
    n_pairs = plan.frame.pair.size
    return StagedSample(
        np.full(n_pairs, -1, dtype=np.int32),
        np.zeros(n_pairs, dtype=bool),
        np.full(n_pairs, np.nan),
    )


def ranked_frame(order: list, ranking: NDArray[np.int32], pair_topic) -> RankedFrame:
    """Frame and features of rankings (run, topic, rank), from each topic's fused order."""
    pair = np.sort(np.concatenate(order))
    row = row_of_pair(pair, pair_topic.size)
    fused_rank = np.zeros(pair.size, dtype=np.int64)
    for pairs in order:
        fused_rank[row[pairs]] = np.arange(1, pairs.size + 1)
    worth = discount(ranking.shape[-1])[1:]
    features = np.zeros((pair.size, 3 + len(ranking)), dtype=np.float32)
    features[:, :3] = log_ranks(fused_rank)
    for run, places in enumerate(row[ranking]):
        topic, rank = np.nonzero(places >= 0)
        features[places[topic, rank], 3 + run] = worth[rank]
    topics = pair_topic[pair].astype(np.int64)
    return RankedFrame(pair, topics, fused_rank, features, len(order))


def predicted_logit(
    frame: RankedFrame, judged: NDArray[np.int64], relevant: NDArray[np.bool_]
) -> NDArray[np.float64]:
    r"""Logit of the probability of relevance of every frame pair, from judged rows.

    .. math:: \beta_0 + \beta_1 x + \beta_2 x^2 + \sum_r \rho_r g(rank_r) + \gamma_t + \delta_t x

    by logistic regression over all topics t and runs r, every judged document counted once, with
    ridge penalties (normal priors of standard deviation 1, 3.2 for :math:`\beta_1` and .58 for
    :math:`\delta_t`); g falls with the log of the rank from 1 to 0. Where the judged are all
    relevant or all not: one number everywhere.
    """
    n_relevant = int(relevant.sum())
    if n_relevant in (0, relevant.size):
        share = (n_relevant + 0.5) / (relevant.size + 1.0)
        return np.full(frame.pair.size, np.log(share / (1.0 - share)))
    n_runs = frame.features.shape[1] - len(RANK_PENALTY)
    common = np.concatenate([RANK_PENALTY, np.ones(n_runs)])
    penalty = Penalty(common, np.array(TOPIC_PENALTY))
    known = frame.features[judged].astype(float)
    with one_blas_thread():
        rows = TopicRows(known, known[:, :2], frame.topic[judged], frame.n_topics)
        fit = ridge_logistic(rows, relevant.astype(float), penalty)
        every = TopicRows(frame.features, frame.features[:, :2], frame.topic, frame.n_topics)
        return logits(every, fit._replace(common=fit.common.astype(np.float32)))


def _log_size(aim: str, log_rank: np.ndarray, logit: np.ndarray) -> np.ndarray:
    """Log of the size of a document, from the log of its fused rank and the logit of relevance."""
    from scipy.special import log_expit

    if aim == "relevant":
        return logit
    root = 0.5 * (log_expit(logit) + log_expit(-logit)) if aim == "dyn" else 0.5 * log_expit(logit)
    return root - log_rank


def opened_stage(
    plan: StagePlan, sample: StagedSample, stage: int, relevant: NDArray[np.bool_]
) -> StagedSample:
    """Sample in which the pairs of a stage have their strata; nothing of the stage is drawn yet.

    ``relevant`` (frame_pair,) is looked at where an earlier stage selected, and nowhere else.
    """
    from scipy.special import expit

    frame = plan.frame
    judged = np.flatnonzero(sample.selected)
    size = -np.log(frame.fused_rank)
    prediction = np.full(frame.pair.size, plan.prior)
    if judged.size:
        logit = predicted_logit(frame, judged, relevant[judged])
        size, prediction = _log_size(plan.aim, -size, logit), expit(logit)
    largest_first = np.lexsort((frame.fused_rank, -size, frame.topic))
    remaining = largest_first[sample.stratum[largest_first] < 0]
    first = np.searchsorted(frame.topic[remaining], np.arange(frame.n_topics))
    stratum, predicted = sample.stratum.copy(), sample.predicted.copy()
    for topic in range(frame.n_topics):
        numbers = np.flatnonzero((plan.topic == topic) & (plan.stage == stage))
        block = remaining[first[topic] : first[topic] + plan.size[numbers].sum()]
        stratum[block] = np.repeat(numbers, plan.size[numbers])
        predicted[block] = prediction[block]
    return StagedSample(stratum, sample.selected, predicted)


def drawn_stage(
    plan: StagePlan, sample: StagedSample, stage: int, random_seed: int | None
) -> StagedSample:
    """Sample with the draw of an opened stage, all subsets of a stratum equally likely.

    The random numbers of a stage are the same whether the stages before it were drawn here or not.
    """
    check_seed(random_seed)
    seeds = None if random_seed is None else [random_seed, 2, stage]
    members = np.flatnonzero(sample.stratum >= 0)
    members = members[plan.stage[sample.stratum[members]] == stage]
    keys = np.random.default_rng(seeds).random(members.size)
    shuffled = members[np.argsort(sample.stratum[members] + keys)]
    number = sample.stratum[shuffled]
    place = np.arange(shuffled.size) - np.searchsorted(number, number)
    selected = sample.selected.copy()
    selected[shuffled[place < plan.drawn[number]]] = True
    return StagedSample(sample.stratum, selected, sample.predicted)
