"""What judgments, labels and runs are together, and what about them is suspect."""

import warnings
from collections.abc import Iterator
from pathlib import Path

import bayeseval as be
from bayeseval.cli.data import Array, DataTree, Table
from bayeseval.cli.remarks import judged_topics
from bayeseval.cli.tables import add_cells, new_table
from bayeseval.messages import counted, some_of

CUTOFF = 10
FEW_JUDGED = 0.8  # share of a run's first ranks that are judged
BEHIND = 0.2  # by how much that may be below the share of the best-judged run
SHOWN = 3  # runs that a sentence names


def of_judgments(known: DataTree, path: str) -> str:
    """How many judgments there are, in a line; a warning where none or every one is relevant."""
    grade = known["judgments/grade"].to_numpy()
    grade = grade[grade == grade]
    if not grade.size:
        raise ValueError(f"{path}: nothing is judged; every grade is below 0, which is unjudged")
    if not (grade > 0).any():
        warnings.warn(f"{path}: no grade is above 0, so no document is relevant", stacklevel=2)
    if (grade > 0).all():
        warnings.warn(
            f"{path}: every grade is above 0, so that every judged document is relevant (but for "
            "--relevance-level); were those that are not left out? They count as unjudged then, "
            "and a sample cannot be estimated from: list them with grade 0",
            stacklevel=2,
        )
    return (
        f"{counted(grade.size, 'judgment')} of {counted(known.sizes['topic'], 'topic')}, grades "
        f"{grade.min():g} to {grade.max():g}, {(grade > 0).mean():.1%} above 0"
    )


def check_shared(path: str, topics: Array, judged: Array | None) -> None:
    """Refuse a run that has no topic of the judgments."""
    import numpy as np

    from bayeseval.collection.labels import floating_topics

    if judged is None or np.isin(topics, judged).any():
        return
    raise ValueError(
        f"{path} has no topic in common with the judgments; it has '{topics[0]}' and so on, they "
        f"have '{judged[0]}' and so on{floating_topics(topics[0], judged[0])}"
    )


def of_labels(collection: DataTree, name: str, path: Path) -> str:
    """How many pairs have a label, and how good labels are, in a line.

    Labels that follow the sample are refused; of labels that look like judgments there is a
    warning.
    """
    from bayeseval.collection.schema import warn_of_copies
    from bayeseval.frame.frame import BY_CHANCE
    from bayeseval.predictors.registry import check_labels

    labelled = be.add_predictions(collection, name, path)
    values = labelled[f"predictors/{name}"].to_numpy()
    warn_of_copies(name, values, collection["judgments/grade"].to_numpy())
    if "design" in collection.children:
        design = collection["design"]
        whole = design["inclusion_probability"].notnull().all()
        if design.attrs["scheme"] in BY_CHANCE and whole:
            check_labels(labelled)
    has = f"labels '{name}', {(values == values).sum()} of {values.size} pairs have one"
    both = values + collection["judgments/grade"].to_numpy()
    return f"{has}; {_of_agreement(labelled, name)}" if (both == both).any() else has


def _of_agreement(labelled: DataTree, name: str) -> str:
    """What labels are worth by the judgments, in words."""
    found = be.label_agreement(labelled, name)
    said = {}
    for quantity, value in found["estimate"].to_series().items():
        low, high = found["interval"].sel(quantity=quantity).to_numpy()
        bounds = "" if low != low else f" ({low:.2f} to {high:.2f})"
        known = f"{value:.2f}{bounds}" if value == value else "cannot be told"
        said[quantity] = f"{quantity} {known}"
    agreement = float(found["estimate"].sel(quantity="agreement"))
    drawn = "design" in labelled.children and bool(
        (labelled["design/inclusion_probability"].to_numpy() < 1.0).any()
    )
    weighted = "weighted by the design " if drawn else ""
    shares = ", ".join(said[one] for one in ("sensitivity", "specificity", "precision"))
    return (
        f"{weighted}they agree with {agreement:.1%} of the judgments, {said['kappa']}; {shares} "
        "(90% intervals; relevant: grade 1 or more)"
    )


def of_runs(collection: DataTree) -> Table:
    """A line for each run: topics that it lacks, its length, judged among the first ranks."""
    import numpy as np

    from bayeseval.frame.rankings import Rankings

    length, counting = Rankings.of(collection).length, judged_topics(collection)
    columns = ["topics lacking", "ranks, median", "fewest", f"judged@{CUTOFF}"]
    table = new_table("runs", ("run",), columns)
    for run, share, ranks in zip(*_judged_shares(collection), length, strict=True):
        there = ranks[ranks > 0]
        middle = f"{np.median(there):.0f}" if there.size else "-"
        fewest = f"{there.min()}" if there.size else "-"
        lacking = str((ranks[counting] == 0).sum())
        add_cells(table, run, lacking, middle, fewest, f"{share:.2f}")
    return table


def suspicions(collection: DataTree) -> Iterator[str]:
    """Sentences on lacking topics, what is judged of the tops, and runs that are the same."""
    from bayeseval.frame.frame import Frame
    from bayeseval.frame.independence import following
    from bayeseval.frame.rankings import Rankings

    rankings = Rankings.of(collection)
    lacking = (rankings.length == 0)[:, judged_topics(collection)].sum(axis=1)
    names, share = _judged_shares(collection)
    if lacking.any():
        which = _listed(names, lacking > 0)
        yield f"topics with judgments are lacking in {which}: a run scores 0 where it lacks a topic"
    design = collection.children.get("design")
    if design is None or design.attrs["scheme"] == "deterministic":
        few = (share < FEW_JUDGED) | (share < share.max() - BEHIND)
        if few.any():
            order = share.argsort(kind="stable")  # the worst are named
            listed = _listed([names[run] for run in order], few[order])
            yield (
                f"many of the first {CUTOFF} documents are not judged in {listed}, "
                f"judged@{CUTOFF} from {share[few].min():.2f} beside {share.max():.2f}; "
                "such runs score too low by --estimator assumed; judge more, or draw a sample "
                "(bayeseval sample, --certain keeps these judgments) for --estimator dyn or stat; "
                "if this is a sample already, name its --design; bayeseval adjust is for runs that "
                "did not make the pool"
            )
    if text := following(Frame.of(collection)):
        yield text
    seen: dict[bytes, str] = {}
    for name, places in zip(names, rankings.pair, strict=True):
        twin = seen.setdefault(places.tobytes(), name)
        if twin != name:
            yield f"the runs {twin} and {name} are one and the same ranking"


def _judged_shares(collection: DataTree) -> tuple[list[str], Array]:
    """Runs, and the judged share of the first documents of each, over the topics that it has."""
    label = f"Judged@{CUTOFF}"
    scores = be.evaluate(collection, label, estimator="assumed", missing_topics="skip")
    share = be.mean_over_topics(scores)["estimate"].isel(measure=0).fillna(0.0)
    return share["run"].to_numpy().tolist(), share.to_numpy()


def _listed(names: list[str], which: Array) -> str:
    """How many runs, and the names of the first."""
    chosen = [name for name, one in zip(names, which, strict=True) if one]
    return f"{counted(len(chosen), 'run')} ({some_of(chosen, SHOWN)})"
