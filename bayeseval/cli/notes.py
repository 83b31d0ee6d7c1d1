"""Notes on scores, one line each on stderr: what a user should know beyond the numbers."""

from pathlib import Path

import bayeseval as be
from bayeseval.cli.options import Array, DataArray, Dataset, DataTree
from bayeseval.cli.output import note
from bayeseval.messages import SHOWN, counted, some_of, span

STRATA = ("topic", "size", "sample_size")
SAMPLE = "because the judgments are a random sample"
WHY = {  # of the estimators that are taken where none is asked for
    "combined": f"dyn and a model, {SAMPLE}",
    "dyn": f"{SAMPLE}, and no model is combined with it here",
    "stat": "because the judgments list the sampled documents alone",
    "importance": "because documents were drawn with replacement",
    "assumed": "because the judgments have no random design: documents without a judgment count as "
    "not relevant, and the topics are a sample",
}


def note_scores(collection: DataTree, mean: Dataset) -> None:
    """Say what is left out, missing or unknown of means over topics."""
    note_outside_weight(mean)
    _note_left_out(mean)
    note_missing_topics(collection)
    note_no_error(mean)


def note_estimator(asked: str | None, result: Dataset) -> None:
    """Say which estimator was taken, and why, where none was asked for."""
    if asked is None:
        name = result.attrs["estimator"]
        note(f"estimator {name}, {WHY[name]} (--estimator takes another)")


def note_depth(collection: DataTree, depth: int | None) -> None:
    """Say how many runs `--depth` cut."""
    number = collection.attrs["runs_cut"]
    if depth is not None and number:
        note(f"--depth {depth} cut {number} of {counted(collection.sizes['run'], 'run')}")


def cut_measures(collection: DataTree, measures, depth: int | None) -> list[str]:
    """Labels of the measures that count ranks which `--depth` cut off."""
    if depth is None or not collection.attrs["runs_cut"]:
        return []
    from bayeseval.measures.names import parse_measures

    parsed = parse_measures(list(measures))
    return [measure.label for measure in parsed if (measure.cutoff or 0) > depth]


def note_outside_weight(mean: Dataset) -> None:
    """Say how much of each measure fell on documents that could not be judged."""
    from bayeseval.estimators import WITHOUT_DESIGN

    judged = mean.attrs["estimator"] in WITHOUT_DESIGN
    where = "unjudged documents" if judged else "documents outside the frame"
    outside = mean["outside_weight"]
    if (outside.isnull() & mean["estimate"].notnull()).any():
        note(
            f"weight on {where}: unknown, because the judgments list only the sampled documents of "
            "the frame"
        )
    elif shares := outside_shares(outside):
        note(f"weight on {where}, mean over runs: {shares}")


def outside_shares(weight: DataArray) -> str:
    """Mean and largest over runs of a weight (measure, run); empty where there is none."""
    shares = []
    for label in weight["measure"].to_numpy():
        of_run = weight.sel(measure=label)
        highest = float(of_run.max())
        if highest >= SHOWN:
            worst = of_run["run"].to_numpy()[int(of_run.argmax("run"))]
            shares.append(f"{label} {float(of_run.mean()):.3f}, up to {highest:.3f} ({worst})")
    return "; ".join(shares)


def _note_left_out(mean: Dataset) -> None:
    """Say which means leave out topics on which the run has no score."""
    topics, parts = mean["n_topics"], []
    whole = int(topics.max())
    for label in topics["measure"].to_numpy():
        of_run = topics.sel(measure=label)
        if (fewest := int(of_run.min())) < whole:
            run = of_run["run"].to_numpy()[int(of_run.argmin("run"))]
            parts.append(f"{label} of run {run} over {fewest} of {counted(whole, 'topic')}")
    if parts:
        note(
            f"topics without an estimate are left out of the means: {'; '.join(parts)}; means over "
            "different topics cannot be compared"
        )


def note_progress(collection: DataTree, design: Dataset) -> None:
    """Say how far the topics of an order are judged."""
    import numpy as np

    from bayeseval.collection.schema import design_parameters
    from bayeseval.designs.judging_list import is_order

    judged = judged_topics(collection)
    if not is_order(design) or not judged.any():
        return
    asked, listed = design_parameters(design)["budget"], design["stratum"].to_numpy() >= 0
    size = np.bincount(design["pair_topic"].to_numpy()[listed], minlength=design.sizes["topic"])
    number = judgments_by_topic(collection)[judged].tolist()
    if asked is not None and max(number) <= np.max(asked):  # not judged further than that
        size = np.minimum(size, asked)
    whole = dict(zip(design["topic"].to_numpy(), size, strict=True))
    of = [int(whole[topic]) for topic in collection["topic"].to_numpy()[judged]]
    note(f"judged {span(number)} of {span(of)} documents a topic")
    strata = {name: collection[f"design/stratum_{name}"].to_numpy() for name in STRATA}
    going_on = (strata["sample_size"] > 0) & (strata["sample_size"] < strata["size"])
    depth = np.full(judged.size, np.iinfo(np.int64).max)
    np.minimum.at(depth, strata["topic"][going_on], strata["sample_size"][going_on])
    depth = depth[np.isin(np.arange(judged.size), strata["topic"][going_on])]
    if depth.size and np.ptp(depth) > 1:
        note(
            f"topics are judged to unlike depths, {span(depth.tolist())} rounds: intervals are "
            "right if this is not because of grades"
        )
    waiting = np.unique(strata["topic"][strata["sample_size"] == 0])
    if n_waiting := int(judged[waiting].sum()):
        note(
            f"in {counted(n_waiting, 'topic')} no document that only later runs have is judged: "
            "these documents count as outside the frame until they are"
        )


def note_missing_topics(collection: DataTree) -> None:
    """Say how many runs lack judged topics, and that they score 0 there."""
    from bayeseval.frame.rankings import Rankings

    missing = (Rankings.of(collection).length == 0)[:, judged_topics(collection)]
    number = missing.sum(axis=1)
    n_runs = int((number > 0).sum())
    if not n_runs:
        return
    verbs = "lacks topics and scores 0 there" if n_runs == 1 else "lack topics and score 0 there"
    worst = int(number.argmax())
    note(
        f"{n_runs} of {counted(number.size, 'run')} {verbs}, "
        f"{counted(int(number.sum()), 'run-topic pair')} in all; run "
        f"{collection['run'].to_numpy()[worst]} lacks most, {number[worst]} of "
        f"{counted(missing.shape[1], 'topic')}"
    )


def judged_topics(collection: DataTree) -> Array:
    """Topics (topic,) that have a judgment."""
    return judgments_by_topic(collection) > 0


def judgments_by_topic(collection: DataTree) -> Array:
    """Number of judgments (topic,)."""
    import numpy as np

    judged = collection["judgments/grade"].notnull().to_numpy()
    of_topic = collection["pair_topic"].to_numpy()[judged]
    return np.bincount(of_topic, minlength=collection.sizes["topic"])


def note_no_error(mean: Dataset) -> None:
    """Say why a mean has no standard error."""
    from bayeseval.estimators import HAS_COVARIANCE

    if mean.attrs["population"] == "topics":
        if (mean["n_topics"] == 1).any():
            note(
                "for the population of topics the standard error comes from the spread of scores "
                "over topics; a run with a score on only 1 topic has none"
            )
        return
    unknown = mean["estimate"].notnull() & mean["standard_error"].isnull()
    if mean.attrs["estimator"] in HAS_COVARIANCE and unknown.any():
        note(
            "there are no intervals where one judged document represents others of its topic: one "
            "draw gives no standard error; sample two or more per topic"
        )


def note_unlike(probability: DataArray, source: str = "") -> None:
    """Name the runs that are probably unlike the model; ``probability`` (measure, run)."""
    from bayeseval.combination import UNLIKE

    unlike = (probability > UNLIKE).any("measure")
    names = unlike["run"].to_numpy()[unlike.to_numpy()].tolist()
    if names:
        note(
            f"warning: dyn contradicts the model on {counted(len(names), 'run')}: "
            f"{some_of(names, 5)}{source}"
        )


def note_lengths(ratio: DataArray, over: str = "mean over runs") -> None:
    """Say how long combined intervals are relative to dyn's; ``ratio`` is by measure."""
    ratios = [f"{value:.2f} ({label})" for label, value in ratio.to_series().dropna().items()]
    if ratios:
        note(f"combined intervals are {', '.join(ratios)} times as long as dyn's, {over}")


def note_model(model, collection: DataTree, depth, pool_depth: int | None) -> None:
    """Say what a model is fitted to: pools of the urn's lists, or documents."""
    fitted = counted(len(model.coords["run"]), "run")
    if pool_depth is not None:
        note(f"the model is fitted to the first {pool_depth} ranks of {fitted}")
        note(
            "each run is modelled by itself: use the scores, not differences between runs; with "
            "few runs in the pool, scores deeper than the pool are too low"
        )
        if collection.attrs["runs_cut"]:
            note(
                f"the urns hold what the runs retrieved at their first {depth} ranks (--depth); a "
                "deeper look changes the scores"
            )
        return
    judged = counted(len(model.coords["judged_pair"]), "judged document")
    note(f"the model is fitted to {judged} and the ranks of {fitted}")
    if "design" not in collection.children:
        note(
            "no design: the judged documents are the frame, and all others count as not relevant; "
            "judgments of a random sample need its --design"
        )


def note_fit(summary: Dataset, sampler, judgments, output: Path) -> None:
    """Say what speaks against the scores of a fit.

    ``sampler`` and ``judgments`` are the verdicts on these, None where there is none.
    """
    shares = outside_shares(summary["outside_weight"])
    exact = float(summary["standard_error"].max()) < 1e-9  # but for rounding
    if shares:
        note(f"weight on documents outside the frame, mean over runs: {shares}")
    elif exact:
        note("every document that counts is judged: scores are exact, and no model was needed")
    if "model_errors" in summary.attrs and not exact:
        note("intervals include the errors that such models made on other collections")
    if sampler is None:
        note("a Laplace approximation has no sampler to check; use it for a quick look")
    else:
        text = be.inference.verdict_text(sampler)
        note(
            f"the sampler passed: {text}"
            if sampler["passed"].all()
            else "warning: the sampler did not pass its checks, and the scores may be wrong: "
            f"{text}; take more --draws, and look at the plots in {output}"
        )
    if judgments is not None:
        text = be.inference.verdict_text(judgments)
        note(
            "the judgments agree with the model's predictions; largest standardised differences by "
            f"kind: {text}"
            if judgments["passed"].all()
            else "warning: the judgments contradict the model's predictions: its scores may be "
            f"wrong, and combined intervals too short: {text}; compare them with evaluate "
            "--estimator dyn"
        )
