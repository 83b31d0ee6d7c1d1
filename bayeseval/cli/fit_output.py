"""The folder that `bayeseval fit` writes: fit, scores, and design and model combined."""

import json
import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import bayeseval as be
from bayeseval.cli.notes import judged_topics, note_fit, note_lengths, note_unlike
from bayeseval.cli.options import Dataset, DataTree
from bayeseval.cli.output import check_folder, check_outputs, note, write_result, written_whole
from bayeseval.cli.tables import COLUMNS, ERRORS, as_csv, as_json, as_scores, score_rows
from bayeseval.messages import counted
from bayeseval.whole_file import picture_name

INTERVALS = "intervals.csv"
DRAWN = 60  # runs in a picture of scores: the best
FILES = ("fit.nc", "scores.csv", "scores.json", INTERVALS)


def check_output(output: Path, inputs: list[Path], runs: list[Path]) -> None:
    """Refuse before the work what could only fail after it, and a folder of runs."""
    for run in runs:
        if os.path.realpath(run.parent) == os.path.realpath(output):
            raise ValueError(
                f"--output {output} is the folder of the RUN {run}, and a glob of its runs would "
                "find what is written there; name another folder"
            )
    check_folder("--output", output)
    written = [output / name for name in FILES]
    drawn = sorted(output.glob("*.png"))
    there = [path for path in [*written, *drawn] if os.path.lexists(path)]
    check_outputs({f"--output ({path.name})": path for path in there}, inputs)


def older_files(output: Path) -> set[str]:
    """Names of what an earlier fit says to have written into the folder."""
    if not (output / "fit.nc").exists():
        return set()
    try:
        names = json.loads((output / "scores.json").read_text(encoding="utf-8"))["files"]
        own = {name for name in names if name in FILES or name.endswith(".png")}
        return {name for name in own if Path(name).name == name}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return set()


def write_folder(
    fitted: DataTree,
    model,
    collection: DataTree,
    post: Dataset,
    summary: Dataset,
    request: dict[str, Any],
    output: Path,
) -> None:
    """Write the fit, its scores and its pictures, and what it is combined with; print the scores.

    ``request`` has the command's measures, population, ci_prob, relevance_level, seed and format.
    """
    import xarray as xr

    verdict, seen, of_judgments = _verdicts(fitted, collection, post)
    note_fit(summary, verdict, of_judgments, output)
    about = _about(summary, verdict, of_judgments) | {"seed": request["seed"]}
    n_topics = xr.full_like(summary["estimate"], judged_topics(collection).sum(), dtype=int)
    rows = score_rows(summary.assign(n_topics=n_topics)).drop(columns=ERRORS)
    files, older = ["fit.nc", "scores.csv", "scores.json"], older_files(output)
    listed = about | {"files": sorted(older | set(files))}  # if what follows is interrupted
    output.mkdir(parents=True, exist_ok=True)
    be.save_fit(fitted, output / "fit.nc")
    write_result(as_csv(rows, {}), output / "scores.csv")
    write_result(as_json(rows, listed), output / "scores.json")
    write_result(as_scores(rows, about, request["format"]), None)
    drawn: dict[str, Any] = {"judgments": seen, "ci_prob": request["ci_prob"]}
    paths = be.diagnostic_plots(fitted, output, model=model, **drawn, random_seed=request["seed"])
    pictures = [path.name for path in paths] + draw_scores(summary, output)
    if post.attrs["draws_of"] == "documents":
        files += write_combined(collection, post, summary, request, output)
    written = [*files, *pictures]
    write_result(as_json(rows, about | {"files": written}), output / "scores.json")
    remove_older(older - set(written), output)
    drawings = f"{counted(len(pictures), 'plot')} of the fit"
    note(f"{', '.join(files)} and {drawings} in {output}, seed {request['seed']}")


def _verdicts(fitted: DataTree, collection: DataTree, post: Dataset) -> tuple:
    """Verdict on the sampler, predicted judgments, verdict on these; None where there is none."""
    sampler = None if "approximation" in fitted.attrs else be.verdict(fitted)
    if post.attrs["draws_of"] != "documents":
        return sampler, None, None
    seen = be.inference.predicted_judgments(fitted, collection)
    return sampler, seen, be.inference.judgments_verdict(seen)


def _about(summary: Dataset, sampler: Dataset | None, judgments: Dataset | None) -> dict[str, Any]:
    """What was asked, and what the checks of the sampler and of the judgments gave."""
    names = ("estimator", "population", "ci_prob")
    about: dict[str, Any] = {name: summary.attrs[name] for name in names}
    about["model_errors"] = summary.attrs.get("model_errors", "none")
    checks = [part for part in (sampler, judgments) if part is not None]
    about |= {"approximation": "laplace"} if sampler is None else {}
    values = {name: x for part in checks for name, x in part["value"].to_series().items()}
    return about | {"passed": all(bool(p["passed"].all()) for p in checks), "verdict": values}


def remove_older(older: set[str], output: Path) -> None:
    """Remove the files of an earlier fit that this one has not replaced."""
    stale = sorted(name for name in older if (output / name).is_file())
    for name in stale:
        (output / name).unlink()
    if stale:
        note(f"removed from {output}, left by an earlier fit: {', '.join(stale)}")


def check_combined(collection: DataTree, request: dict[str, Any]) -> None:
    """Refuse before the fit what dyn would refuse after it: labels that follow the sample."""
    if "predictors" in collection.children and not _why_not_combined(collection, request):
        level = request["relevance_level"]
        be.evaluate(collection, ["P@1"], estimator="dyn", relevance_level=level)


def write_combined(
    collection: DataTree,
    post: Dataset,
    summary: Dataset,
    request: dict[str, Any],
    output: Path,
) -> list[str]:
    """Write the three intervals of every run into a folder; returns the names of the files.

    Nothing is written where there is no design-based estimate to combine with. ``post`` are draws
    of the means over topics, ``summary`` stands for the model beside the others, ``request`` has
    the command's measures, population, ci_prob, relevance_level and format: those that
    people read print the combined scores too.
    """
    from bayeseval.answers.scoring import summed_and_listed
    from bayeseval.measures.names import parse_measures
    from bayeseval.tidy import BOUNDS, with_bounds

    reason = _why_not_combined(collection, request)
    summed = summed_and_listed(parse_measures(post["measure"].to_numpy().tolist()))[0]
    if not summed:
        reason = reason or "dyn has no estimate of what is no sum of relevances"
    if not reason:
        options = {"estimator": "dyn", "relevance_level": request["relevance_level"]}
        scores = be.evaluate(collection, summed, **options)
        post, summary = post.sel(measure=summed), summary.sel(measure=summed)
        mean = be.mean_over_topics(scores, ci_prob=request["ci_prob"])
        if mean["standard_error"].isnull().any():
            reason = (
                "the sample is too small for dyn to have a standard error (one judged document per "
                "topic gives none)"
            )
    if reason:
        note(f"no combined intervals: {reason}")
        return []
    table = be.compare_intervals(mean, summary, be.combine(mean, post))
    further = ["length_ratio", "model_weight", "unlike_model"]
    flat = with_bounds(table)[["estimate", "standard_error", *further, *BOUNDS]]
    rows = flat.to_dataframe(dim_order=["run", "measure", "source"]).reset_index()
    rows = rows.assign(topic="all").rename(columns={"source": "estimator"})
    rows = rows.loc[:, COLUMNS + further]
    write_result(rows.to_csv(index=False), output / INTERVALS)
    if request["format"] in ("table", "markdown", "latex"):
        about = request | {"estimator": "dyn and the model combined"}
        text = as_scores(rows.query("estimator == 'combined'"), about, request["format"])
        write_result(text, None)
    note_lengths(table["length_ratio"].sel(source="combined", drop=True).mean("run"))
    note_unlike(table["unlike_model"], f"; see {INTERVALS}")
    draw = partial(be.plots.plot_combined, table)
    return [INTERVALS, *_pictures("intervals", draw, table["measure"].to_numpy().tolist(), output)]


def draw_scores(summary: Dataset, output: Path) -> list[str]:
    """Draw the scores with the intervals of the table; returns the names of the files."""
    labels = summary["measure"].to_numpy().tolist()
    best = summary["estimate"].mean("measure").to_series().sort_values(ascending=False)
    draw = partial(be.plots.plot_intervals, {"the model": summary}, runs=list(best.index[:DRAWN]))
    return _pictures("scores", draw, labels, output)


def _pictures(
    name: str, draw: Callable[[str], Any], measures: list[str], output: Path
) -> list[str]:
    """Draw something for every measure; returns the names of the files."""
    import matplotlib.pyplot as plt

    names = []
    for measure in measures:
        names.append(picture_name(f"{name}_{measure}"))
        figure: Any = draw(measure).figure
        with written_whole(output / names[-1]) as unfinished:
            figure.savefig(unfinished, dpi=150)
        plt.close(figure)
    return names


def _why_not_combined(collection: DataTree, request: dict[str, Any]) -> str:
    """Why there is nothing to combine; empty where there is."""
    from bayeseval.frame.frame import BY_CHANCE

    if "design" not in collection.children:
        return "the judgments have no --design"
    if collection["design"].attrs.get("scheme") not in BY_CHANCE:
        return "this design gives dyn no standard error"
    if request["population"] != "sample":
        return "they are for these topics only (--population sample)"
    return ""
