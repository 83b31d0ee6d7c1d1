"""What a user should know about scores beyond the numbers, one line each on stderr."""

from bayeseval.cli.data import Array, DataArray, Dataset, DataTree
from bayeseval.cli.output import remark
from bayeseval.messages import SHOWN, counted


def remark_late(n_runs: int) -> None:
    """Say that the model has not learned from some runs, and what lets it."""
    if n_runs:
        remark(
            f"the model has not learned from {counted(n_runs, 'run')}: --learn-from all lets it "
            "(not for runs that were made with a look at the judgments)"
        )


def remark_scores(collection: DataTree, scores: Dataset, mean: Dataset) -> None:
    """Say what was left out, lacking or unknown of scores by topic and of their means."""
    remark_outside_weight(scores)
    _remark_left_out(scores, mean)
    _remark_no_estimate(scores)
    counting = scores["estimate"].notnull().any(["measure", "run"]).to_numpy()
    remark_lacking(collection, counting, zero=scores.attrs["missing_topics"] == "zero")
    remark_no_error(mean)
    remark_denominators(mean)


def remark_denominators(mean: Dataset) -> None:
    """Say which ratios divide by numbers of relevant documents that are hardly known."""
    if "poorly_known_topics" not in mean:
        return
    from bayeseval.estimators.denominators import POOR, POOR_SHARE

    share = mean["poorly_known_topics"].to_series()
    asked = [f"{label} ({of:.0%} of topics)" for label, of in share.items() if of > POOR_SHARE]
    if asked:
        remark(
            f"for {', '.join(asked)} the topic itself hardly tells its number of relevant "
            f"documents (or ideal gain), known to {POOR:.0%} or worse: these ratios rest on what "
            "the other topics are like, and their intervals are rough"
        )


def remark_depth(collection: DataTree, depth: int | None, measures=()) -> None:
    """Say how many runs `--depth` cut, and which measures count the ranks that it cut off."""
    number = collection.attrs["runs_cut"]
    if depth is None or not number:
        return
    text = f"--depth {depth} cut {number} of {counted(collection.sizes['run'], 'run')}"
    deeper = cut_measures(collection, measures, depth)
    if deeper:
        text += (
            f" and is below the cutoff of {', '.join(deeper)}: ranks from {depth + 1} on count as "
            "empty"
        )
    remark(text)


def cut_measures(collection: DataTree, measures, depth: int | None) -> list[str]:
    """Labels of the measures that count ranks which `--depth` cut off."""
    if depth is None or not collection.attrs["runs_cut"]:
        return []
    from bayeseval.measures.names import parse_measures

    parsed = parse_measures(list(measures)) if len(measures) else []
    return [measure.label for measure in parsed if (measure.cutoff or 0) > depth]


def remark_outside_weight(scores: Dataset) -> None:
    """Say how much of each measure fell on documents that could not be known."""
    from bayeseval.estimators import WITHOUT_DESIGN

    judged = scores.attrs["estimator"] in WITHOUT_DESIGN
    where = "unjudged documents" if judged else "documents outside the frame"
    outside = scores["outside_weight"]
    if (outside.isnull() & scores["estimate"].notnull()).any():
        remark(
            f"weight on {where}: unknown, because the judgments list only the sampled documents of "
            "the frame"
        )
        return
    shares = outside_shares(mean_outside(scores))
    if shares:
        remark(f"weight on {where}, mean over runs: {shares}")


def mean_outside(scores: Dataset) -> DataArray:
    """Weight (measure, run) on documents that could not be known, mean over the scored topics."""
    outside = scores["outside_weight"]
    counting = scores["estimate"].notnull() | (outside > 0)
    return outside.where(counting).mean("topic", skipna=True)


def outside_shares(weight: DataArray) -> str:
    """Mean and largest over runs of a weight (measure, run); empty where there is none."""
    shares = []
    for label in weight["measure"].to_numpy():
        of_run = weight.sel(measure=label)
        highest = float(of_run.max())
        if highest >= SHOWN:
            worst = of_run["run"].to_numpy()[int(of_run.argmax("run"))]
            shares.append(f"{label} {float(of_run.mean()):.3f}, up to {highest:.3f} (run {worst})")
    return "; ".join(shares)


def _remark_left_out(scores: Dataset, mean: Dataset) -> None:
    """Say how many scores `--outside missing` kept out of the means."""
    if scores.attrs["outside"] != "missing":
        return
    left_out = scores["estimate"].isnull() & (scores["outside_weight"] > 0)
    parts = []
    for label in left_out["measure"].to_numpy():
        lost = left_out.sel(measure=label)
        if lost.any():
            topics = mean["n_topics"].sel(measure=label)
            fewest = topics["run"].to_numpy()[int(topics.argmin("run"))]
            parts.append(
                f"{label} {int(lost.sum())} of {lost.size}, leaving run {fewest} "
                f"{counted(int(topics.min()), 'topic')}"
            )
    if parts:
        remark(f"--outside missing leaves run-topic scores out of the means: {'; '.join(parts)}")


def _remark_no_estimate(scores: Dataset) -> None:
    """Say how many topics an estimator has no estimate for though others have."""
    if scores.attrs["outside"] == "missing" or scores.attrs["missing_topics"] == "skip":
        return
    estimated = scores["estimate"].notnull()
    parts = []
    for label in estimated["measure"].to_numpy():
        here = estimated.sel(measure=label)
        lacking = here.any("run") & ~here
        if lacking.any():
            number = lacking.sum("topic")
            run = number["run"].to_numpy()[int(number.argmax("run"))]
            parts.append(f"{label} {int(lacking.sum())}, most of run {run} ({int(number.max())})")
    if parts:
        remark(
            f"run-topic scores without an estimate, left out of the means: {'; '.join(parts)}; "
            "means over different topics cannot be compared"
        )


def remark_lacking(collection: DataTree, counting: Array | None, *, zero: bool) -> None:
    """Say how many runs lack topics that count, and whether they score 0 or are left out there.

    Topics with a judgment count; ``counting`` (topic,) says which others do.
    """
    from bayeseval.frame.rankings import Rankings

    judged = judged_topics(collection)
    counting = judged if counting is None else judged | counting
    lacks = (Rankings.of(collection).length == 0)[:, counting]
    number = lacks.sum(axis=1)
    n_runs = int((number > 0).sum())
    if not n_runs:
        return
    verb, act = ("lacks", "scores 0") if n_runs == 1 else ("lack", "score 0")
    does = act if zero else ("is left out" if n_runs == 1 else "are left out")
    worst = int(number.argmax())
    remark(
        f"{n_runs} of {counted(number.size, 'run')} {verb} topics and {does} there, "
        f"{counted(int(number.sum()), 'run-topic pair')} in all; run "
        f"{collection['run'].to_numpy()[worst]} lacks most, {number[worst]} of "
        f"{counted(lacks.shape[1], 'topic')}"
    )


def judged_topics(collection: DataTree) -> Array:
    """Topics (topic,) that have a judgment."""
    import numpy as np

    judged = collection["judgments/grade"].notnull().to_numpy()
    of_topic = collection["pair_topic"].to_numpy()[judged]
    return np.bincount(of_topic, minlength=collection.sizes["topic"]) > 0


def remark_no_error(mean: Dataset) -> None:
    """Say why a mean has no standard error."""
    from bayeseval.estimators import HAS_COVARIANCE

    if mean.attrs["population"] == "topics":
        if (mean["n_topics"] == 1).any():
            remark(
                "for the population of topics the standard error comes from the spread of scores "
                "over topics; a run with a score on only 1 topic has none"
            )
        return
    unknown = mean["estimate"].notnull() & mean["standard_error"].isnull()
    if mean.attrs["estimator"] in HAS_COVARIANCE and unknown.any():
        remark(
            "there are no intervals where one judged document represents others of its topic: one "
            "draw gives no standard error; sample two or more per topic"
        )
