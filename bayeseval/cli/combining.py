"""Design and model combined: the scores alone, or for `bayeseval fit` the three side by side."""

from pathlib import Path
from typing import Any

import bayeseval as be
from bayeseval.cli.data import DataArray, DataFrame, Dataset, DataTree
from bayeseval.cli.output import remark, working, write_result, written_whole
from bayeseval.cli.remarks import remark_late
from bayeseval.cli.tables import COLUMNS, as_scores
from bayeseval.messages import counted, some_of
from bayeseval.whole_file import picture_name

INTERVALS = "intervals.csv"
READ = ("table", "markdown", "latex")  # formats for readers, not for programs
LONGER = 1.25  # times dyn's: then dyn is the better of the two
NAMED = 5  # runs that are unlike the model


def check_combined(collection: DataTree, request: dict[str, Any]) -> None:
    """Refuse before the fit what dyn will refuse after it: labels that tell what was sampled."""
    if "predictors" in collection.children and not _lacking(collection, request):
        level = request["relevance_level"]
        be.evaluate(collection, ["P@1"], estimator="dyn", relevance_level=level)


def check_combinable(collection: DataTree, measures: list[str], relevance_level: int) -> None:
    """Refuse, before any estimate, what dyn and a model of documents cannot be combined for."""
    from bayeseval.frame.frame import BY_CHANCE, Frame
    from bayeseval.posterior.modelled import scored_by_relevance

    scheme = collection["design"].attrs["scheme"] if "design" in collection.children else None
    if scheme not in BY_CHANCE:
        raise ValueError(
            "--estimator combined needs the --design of a random sample (stratified or Poisson)"
            + ("" if scheme is None else f", and this one is {scheme}")
        )
    if Frame.of(collection).lists_sampled_alone:
        raise ValueError(
            "--estimator combined predicts every document that could have been sampled, and these "
            "judgments list the sampled ones alone; take --estimator stat"
        )
    scored_by_relevance(collection, measures, relevance_level)


def with_model(
    collection: DataTree, mean: Dataset, options: dict[str, Any], how: dict[str, Any]
) -> Dataset:
    """Scores by dyn and a model combined; runs on which the two contradict each other are named.

    ``mean`` (measure, run) is by dyn with ``options``, over these topics; ``how`` the model is
    fitted is of :func:`bayeseval.cli.estimating.fitting`.
    """
    from bayeseval.combination import combined_means

    asked = {name: options[name] for name in ("predictor", "relevance_level")}
    with working("fitting a model, and combining"):
        found = combined_means(collection, mean, **asked, **how)
    remark_late(int((found["group"] == "new").sum()))
    _remark_unlike(found["unlike_model"])
    return found


def remark_lengths(ratio: DataArray, what: str = "mean over runs") -> None:
    """Say how long combined intervals are beside dyn's, by measure; where nothing is open, nothing.

    ``ratio`` (measure,) is of lengths.
    """
    told = [f"{value:.2f} ({label})" for label, value in ratio.to_series().dropna().items()]
    if told:
        remark(f"length of combined intervals over dyn's, {what}: {', '.join(told)}")


def remark_differences(pairs: Dataset, by_dyn: Dataset) -> None:
    """The same of differences (measure, comparison), and which of them dyn knows better."""
    length, of_dyn = (
        one["interval"].diff("ci_bound").isel(ci_bound=0, drop=True) for one in (pairs, by_dyn)
    )
    ratio = length / of_dyn.where(of_dyn > 0)
    remark_lengths(ratio.median("comparison"), "median of the differences")
    ratio = ratio.where((of_dyn > 0) | (length <= 0), float("inf"))  # dyn is certain, and dyn alone
    longer = ratio.max("measure").fillna(0.0).to_numpy()
    number, worst = int((longer > LONGER).sum()), int(longer.argmax())
    if number:
        pair = " and ".join(str(pairs[name].to_numpy()[worst]) for name in ("run_a", "run_b"))
        remark(
            f"dyn knows {number} of {counted(longer.size, 'difference')} better, most that of "
            f"{pair} (its interval is {1.0 / longer[worst]:.2f} times as long): take --estimator "
            "dyn for such pairs"
        )


def write_combined(
    collection: DataTree,
    post: Dataset,
    summary: Dataset,
    request: dict[str, Any],
    output: Path,
    plots: bool,
) -> list[str]:
    """Write the three intervals of every run into a folder; returns the names of the files.

    Nothing is written where there is no design-based estimate to combine with. ``post`` are draws
    of the means over topics, ``summary`` stands for the model beside the others, ``request`` has
    the command's measures, outside, population, ci_prob, relevance_level and format: those that
    people read print the combined scores too.
    """
    lacking = _lacking(collection, request)
    if lacking:
        remark(f"no combined intervals: {lacking}")
        return []
    how = {"estimator": "dyn", "relevance_level": request["relevance_level"]}
    scores = be.evaluate(collection, request["measures"], **how)
    mean = be.mean_over_topics(scores, ci_prob=request["ci_prob"])
    if mean["standard_error"].isnull().any():
        remark(
            "no combined intervals: the sample is too small for dyn to have a standard error (one "
            "judged document per topic gives none)"
        )
        return []
    combined = be.combine(mean, post)
    table = be.compare_intervals(mean, summary, combined)
    rows = _rows(table)
    write_result(rows.to_csv(index=False), output / INTERVALS)
    if request["format"] in READ:
        about = request | {"estimator": "dyn and the model combined"}
        text = as_scores(rows.query("estimator == 'combined'"), about, request["format"])
        write_result(text, None)
    written = [INTERVALS]
    if plots:
        written += _pictures(table, output)
    remark_lengths(table["length_ratio"].sel(source="combined", drop=True).mean("run"))
    _remark_unlike(table["unlike_model"], f"; see {INTERVALS}")
    return written


def _pictures(table: Dataset, output: Path) -> list[str]:
    """Draw the intervals by every measure; returns the names of the files."""
    import matplotlib.pyplot as plt

    names = []
    for measure in table["measure"].to_numpy().tolist():
        names.append(picture_name(f"intervals_{measure}"))
        figure: Any = be.plots.plot_combined(table, measure).figure
        with written_whole(output / names[-1]) as unfinished:
            figure.savefig(unfinished, dpi=150)
        plt.close(figure)
    return names


def _lacking(collection: DataTree, request: dict[str, Any]) -> str:
    """Why there is nothing to combine; empty where there is."""
    from bayeseval.frame.frame import BY_CHANCE

    if "design" not in collection.children:
        return "the judgments have no --design"
    if collection["design"].attrs.get("scheme") not in BY_CHANCE:
        return "this design gives dyn no standard error"
    if request["population"] != "sample":
        return "they are for these topics only (--population sample)"
    if request["outside"] != "nonrelevant":
        return "dyn counts documents outside the frame as non-relevant (--outside nonrelevant)"
    return ""


def _rows(table: Dataset) -> DataFrame:
    """One row for each run, measure and source."""
    from bayeseval.tidy import BOUNDS, with_bounds

    kept = ["estimate", "standard_error", "length_ratio", "model_weight", "unlike_model"]
    flat = with_bounds(table)[[*kept, *BOUNDS]]
    rows = flat.to_dataframe(dim_order=["run", "measure", "source"]).reset_index()
    rows = rows.assign(topic="all").rename(columns={"source": "estimator"})
    return rows.loc[:, COLUMNS + kept[2:]]


def _remark_unlike(probability: DataArray, where_to_look: str = "") -> None:
    """Name the runs that are unlike the model."""
    from bayeseval.combination import UNLIKE

    unlike = (probability > UNLIKE).any("measure")
    names = unlike["run"].to_numpy()[unlike.to_numpy()].tolist()
    if names:
        remark(
            f"warning: dyn contradicts the model on {counted(len(names), 'run')}: "
            f"{some_of(names, NAMED)}{where_to_look}"
        )
