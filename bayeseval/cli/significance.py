"""Which runs differ from which, as marks beside their scores."""

from collections.abc import Iterable
from string import ascii_lowercase

import bayeseval as be
from bayeseval.cli.data import DataFrame, Dataset, DataTree

LEVEL = 0.05  # of a p value adjusted for all comparisons of the measure
EVERY = "all"


def compared(collection: DataTree, measures, against: str, over: dict, options: dict):
    """Differences of all runs from one, or of all pairs (``all``), as ``be.compare`` has them.

    ``over`` what: population and groups of topics.
    """
    from bayeseval.estimators import HAS_COVARIANCE

    if options["estimator"] not in HAS_COVARIANCE:
        over = over | {"population": "topics"}
    runs = collection["run"].to_numpy().tolist()
    return be.compare(
        collection,
        measures,
        reference=None if _of_all_pairs(against, runs) else against,
        random_seed=0,
        **over,
        **options,
    )


def _of_all_pairs(against: str, runs: Iterable[str]) -> bool:
    """Whether all pairs are compared, since the word for that is no run's name."""
    return against == EVERY and EVERY not in runs


def with_marks(rows: DataFrame, pairs: Dataset) -> DataFrame:
    """Rows of means with the runs that each is better and worse than, and the mark that says so.

    ``pairs`` are of ``be.compare``. Columns better_than and worse_than have labels with blanks
    between, mark the letters of the runs that it is better than, by their place in the table, or an
    arrow where all are compared with one; rows of single topics get none.
    """
    reference = pairs.attrs["reference"]
    above: dict[tuple[str, str], list[str]] = {}
    below: dict[tuple[str, str], list[str]] = {}
    for row in be.to_frame(pairs).to_dict("records"):
        if row["p_tukey"] < LEVEL and row["estimate"] != 0:
            first, second = row["run_a"], row["run_b"]
            better, worse = (first, second) if row["estimate"] > 0 else (second, first)
            above.setdefault((better, row["measure"]), []).append(worse)
            below.setdefault((worse, row["measure"]), []).append(better)
    keys = list(zip(rows["run"], rows["measure"], rows["topic"], strict=True))
    better, worse = (
        [found.get((run, measure), []) if topic == "all" else [] for run, measure, topic in keys]
        for found in (above, below)
    )
    if reference:
        marks = [
            "" if run == reference else "↑" if more else "↓" if less else ""
            for (run, _, _), more, less in zip(keys, better, worse, strict=True)
        ]
    else:
        places = run_places(rows)
        joint = "" if len(places) <= len(ascii_lowercase) else ","
        marks = [joint.join(places[run] for run in places if run in more) for more in better]
    texts = {"better_than": better, "worse_than": worse}
    columns = {name: [" ".join(runs) for runs in lists] for name, lists in texts.items()}
    return rows.assign(**columns, mark=marks)


def run_places(rows: DataFrame) -> dict[str, str]:
    """Letter of every run by its place in the table; the place's number where there are many."""
    names = list(dict.fromkeys(rows["run"]))
    lettered = len(names) <= len(ascii_lowercase)
    return {name: ascii_lowercase[i] if lettered else str(i + 1) for i, name in enumerate(names)}


def with_places(rows: DataFrame, about: dict) -> DataFrame:
    """Rows whose runs are named with their letters, where marks are letters of runs."""
    places = run_places(rows)
    if "mark" not in rows or not _of_all_pairs(about["against"], places):
        return rows
    return rows.assign(run=[f"{run} ({places[run]})" for run in rows["run"]])


def marks_note(rows: DataFrame, about: dict) -> list[str]:
    """What the marks mean, as one sentence; none where there are none."""
    if "mark" not in rows:
        return []
    rule = f"(p < {LEVEL:g} by Tukey's test, adjusted for all comparisons of a measure)"
    against, places = about["against"], run_places(rows)
    if not _of_all_pairs(against, places):
        return [f"↑ ↓: better or worse than {against} {rule}"]
    listed = ", ".join(f"{place} {name}" for name, place in places.items())
    return [f"raised: the runs that it is better than {rule}; {listed}"]
