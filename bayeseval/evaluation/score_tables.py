"""Scores of other tools, topic by topic, as `evaluate` returns its own."""

import io
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

from bayeseval.evaluation.topic_groups import Groups, members
from bayeseval.measures.names import parse_measures
from bayeseval.messages import Message, Option, counted, some_of, warn
from bayeseval.trec.frames import ENTRY, LINE, SYNONYMS, as_numbers, as_pandas, as_text, described
from bayeseval.trec.lines import blocks, check_text
from bayeseval.trec.records import json_values, run_name
from bayeseval.trec.sources import expanded, path_text, read_bytes
from bayeseval.uncertainty import interval

GIVEN = "given"  # the estimator of scores that were not made here
MEAN = "all"  # the topic of a mean over topics
COLUMNS = {  # our name of a column -> names that tools have for it, in small letters
    "run": ("run", *SYNONYMS["run"], "model"),
    "topic": ("topic", *SYNONYMS["topic"], "query"),
    "measure": ("measure", "metric"),
    "score": ("score", "value"),
}


def read_scores(
    scores: Any,
    *,
    measure: str | Sequence[str] | None = None,
    topic_groups: Groups | str | None = None,
) -> xr.Dataset:
    """Scores per topic that another tool has made, for comparisons, ranks, means and plans.

    The topics are the sample: whether the judgments behind the scores are complete is not known
    here.

    Parameters
    ----------
    scores : DataFrame, dict, path, or list of them
        A table with the columns run, topic, measure and score (also by the names of other tools:
        system, model, name; query, query_id, qid, q_id; metric; value); or, for one ``measure``, a
        table of one row for each topic (in a column, or the index; else they are numbered from 1)
        and one column for each run, where an empty cell is no score. A dict ``{run: {topic:
        {measure: score}}}``, as of pytrec_eval, ``{run: table}``, or for one measure ``{run:
        {topic: score}}``. Files and globs: CSV, TSV, JSON, the output of ``trec_eval -q`` and
        ``ir_measures -q``; a run without a name has that of its file. Rows of the topic ``all``,
        which are means, are left out.
    measure : str or list of str, optional
        Measures to take, by default all; of a table without measures the name of its one.
    topic_groups : mapping, Series or DataArray of topic to task, or name of a column, optional
        Tasks (data sets) over which a leaderboard averages. The score of a task is the mean over
        its topics, and tasks take the place of topics: a mean weighs tasks alike, and its error
        comes from the spread over tasks, which are what is random; that of topics within tasks is
        contained in it. (In :func:`compare` and :func:`mean_over_topics` ``topic_groups`` keep the
        mean over topics.)

    Returns
    -------
    Dataset (measure, run, topic)
        What :func:`evaluate` returns for complete judgments, with ``estimate`` alone known: NaN
        where a run has no score. Measures that are known here have their name here.

    Raises
    ------
    ValueError
        A column that is missing, two scores of one run, topic and measure, a score that is not a
        finite number, no score at all: with the file and line.

    Warns
    -----
    UserWarning
        Runs that lack topics which others have: these are left out of their means, and a
        comparison is of the topics that both runs have. A task of which a run lacks a topic has no
        score of that run.

    Examples
    --------
    >>> import pandas as pd, bayeseval as be
    >>> table = pd.DataFrame({"bm25": [0.2, 0.4, 0.3], "dense": [0.5, 0.6, 0.3]})
    >>> scores = be.read_scores(table, measure="ndcg_cut_10")
    >>> scores.measure.values.tolist(), scores.topic.values.tolist()
    (['nDCG@10'], ['1', '2', '3'])
    >>> be.compare(scores).estimate.values.round(3)
    array([[-0.167]])
    """
    asked = [measure] if isinstance(measure, str) else measure
    labels = None if asked is None else [canonical(name) for name in asked]
    column = topic_groups if isinstance(topic_groups, str) else None
    tables = [_long(name, frame, labels, column) for name, frame in _tables(scores)]
    if not tables:
        raise ValueError("there is no table of scores; at least one is needed.")
    rows = _checked(pd.concat(tables, sort=False), labels)
    topics = ["topic"] if column is None else ["group", "topic"]
    _refuse_twice(rows, ["run", *topics, "measure"])
    found = _dataset(rows, topics)
    if topic_groups is None:
        _warn_lacking(found["estimate"], "comparisons are of the topics that both runs have")
        return found
    _warn_lacking(found["estimate"], "a task of which a run lacks a topic has no score of it")
    if isinstance(topic_groups, str):
        task = rows.drop_duplicates(topics)["group"].tolist()
        if len(set(task)) < 2:
            raise ValueError(
                f"topic_groups: column '{topic_groups}' has one task; two or more are needed, "
                "since tasks are what is random"
            )
    else:
        task = _tasks(topic_groups, found["topic"].to_numpy())
    return _of_tasks(found, task)


def scores_by_topic(found: xr.Dataset) -> xr.Dataset | None:
    """Scores (measure, run, topic) of one sample; None where these are means or draws."""
    dims = set(found["estimate"].dims) if "estimate" in found else set()
    if not {"run", "topic"} <= dims <= {"measure", "run", "topic"}:
        return None
    return found if "measure" in dims else found.expand_dims("measure")


def canonical(measure: Any) -> str:
    """Label of a measure that is known here, else its name as it is.

    Examples
    --------
    >>> canonical("ndcg_cut_10"), canonical("F1"), canonical("exact match")
    ('nDCG@10', 'F1', 'exact match')
    """
    try:
        return parse_measures(str(measure))[0].label
    except ValueError:
        return str(measure)


def is_known(measure: Any) -> bool:
    """Whether a name is that of a measure here."""
    try:
        return bool(parse_measures(str(measure)))
    except ValueError:
        return False


def _tables(source: Any) -> Iterator[tuple[str, pd.DataFrame]]:
    """Tables of scores, each with its name for messages."""
    source = as_pandas(source)
    if isinstance(source, pd.DataFrame):
        yield "scores DataFrame", source
    elif isinstance(source, str | os.PathLike):
        for path in expanded(source, "scores"):
            for name, frame in _of_file(path):
                frame = _with_our_names(frame)
                alone = "score" in frame and "run" not in frame
                yield name, frame.assign(run=_file_name(path)) if alone else frame
    elif isinstance(source, Mapping):
        yield from _of_dict("scores dict", source)
    elif isinstance(source, list | tuple | Iterator):
        listed = list(source)
        if all(isinstance(one, str | os.PathLike | pd.DataFrame | Mapping) for one in listed):
            for one in listed:
                yield from _tables(one)
        else:  # named tuples, as those of ir_measures
            yield "scores", pd.DataFrame(listed)
    else:
        raise TypeError(
            "scores must be a path, a glob, a DataFrame, a dict, or a list of them, not "
            f"{described(source)}."
        )


def _file_name(path: Path) -> str:
    """Name of a run that has that of its file."""
    return run_name(path).removesuffix(".txt")


def _of_dict(name: str, source: Mapping) -> Iterator[tuple[str, pd.DataFrame]]:
    """Tables of ``{run: {topic: {measure: score}}}``, ``{run: {topic: score}}``, ``{run: table}``.

    Of the second the index are the topics, and the run is the column. Of ranx the measures stand
    outside, which shows by their names.
    """
    for run, part in source.items():
        if not isinstance(part, Mapping):
            for named, frame in _tables(part):
                yield named, _with_our_names(frame).assign(run=str(run))
        elif not any(isinstance(of_topic, Mapping) for of_topic in part.values()):
            yield name, pd.Series(part, name=str(run), dtype=object).to_frame()
        else:
            rows = [
                (str(run), first, second, score)
                for first, inner in part.items()
                for second, score in dict(inner).items()
            ]
            columns = list(COLUMNS)
            if all(map(is_known, part)) and not any(is_known(row[2]) for row in rows[:9]):
                columns[1:3] = "measure", "topic"
            yield name, pd.DataFrame(rows, columns=columns)


def _of_file(path: Path) -> Iterator[tuple[str, pd.DataFrame]]:
    """Tables of a file, whose index says where a row stands."""
    name, data = path_text(path), read_bytes(path, "scores")
    check_text(name, data)
    first = data.decode().lstrip().splitlines()[0]
    fields = first.split()
    if first[0] in "{[":
        values = json_values(name, data.decode())
        one = values[0] if len(values) == 1 and isinstance(values[0], Mapping) else {"": None}
        if all(isinstance(part, Mapping) for part in one.values()):
            yield from _of_dict(name, one)
        else:
            place = pd.RangeIndex(1, len(values) + 1, name=ENTRY)
            yield name, pd.DataFrame(values, index=place)
    elif len(fields) == 3 and (fields[0] == "runid" or np.isfinite(as_numbers(fields[2:]))[0]):
        yield name, _of_lines(path, data)
    else:
        separator = max((",", ";", "\t"), key=first.count)
        try:
            frame = pd.read_csv(
                io.BytesIO(data), sep=separator, header=None, dtype=str, keep_default_na=False,
                skipinitialspace=True, skip_blank_lines=False,
            )  # fmt: skip
        except pd.errors.ParserError as error:
            raise ValueError(f"{name}: {str(error).strip()}.") from error
        frame = frame.set_index(pd.RangeIndex(1, len(frame) + 1, name=LINE))
        frame.columns = frame.iloc[0].tolist()
        yield name, frame.iloc[1:].where(frame != "").dropna(how="all")


def _of_lines(path: Path, data: bytes) -> pd.DataFrame:
    """Table of the lines of ``trec_eval -q`` (measure topic value) or ``ir_measures -q``.

    The latter begin with the topic. A line ``runid`` names the run: in trec_eval's files it stands
    after the scores of the topics, in those of bayeseval before them.
    """
    parts = list(blocks(path_text(path), data, "measure topic value"))
    if any((lines.count != 3).any() for lines in parts):
        raise ValueError(f"{path}: every line must have 3 fields: measure, topic and score.")
    number = pd.Index(np.concatenate([lines.number for lines in parts]), name=LINE)
    first, second, value = ([x for one in parts for x in one.texts(place)] for place in range(3))
    before, after = (any(map(_is_known, {*texts})) for texts in (first, second))
    if MEAN in second or (MEAN not in first and before and not after):
        measure, topic = first, second
    elif MEAN in first or (after and not before):
        topic, measure = first, second
    else:
        raise ValueError(
            f"{path}: which of the first two fields is the measure cannot be told without lines of "
            f"the means, whose topic is `{MEAN}`; give these too, or a table with a header."
        )
    frame = pd.DataFrame({"topic": topic, "measure": measure, "score": value}, index=number)
    named = frame["score"].where(frame["measure"] == "runid")
    run = named.ffill() if frame["measure"].iloc[0] == "runid" else named.bfill()
    texts = (frame["measure"] == "runid") | frame["measure"].str.startswith("relstring")
    return frame.assign(run=run.fillna(_file_name(path))).loc[~texts]


def _is_known(measure: str) -> bool:
    try:
        return bool(parse_measures(measure))
    except ValueError:
        return False


def _with_our_names(frame: pd.DataFrame) -> pd.DataFrame:
    """Table in which the columns, and levels of the index, that are known have our names."""
    known = {name for names in COLUMNS.values() for name in names}
    if any(str(level).lower() in known for level in frame.index.names):
        frame = frame.reset_index()
    lower = [str(name).lower() for name in frame.columns]
    names = {}
    for column, others in COLUMNS.items():
        present = next((other for other in others if other in lower), None)
        if present is not None and column not in frame:
            names[frame.columns[lower.index(present)]] = column
    return frame.rename(columns=names)


def _long(
    name: str, frame: pd.DataFrame, measures: list[str] | None, group: str | None
) -> pd.DataFrame:
    """Rows (run, topic, measure, score, and group where a column has it), and where they stand."""
    frame = _with_our_names(frame)
    if measures is not None and len(measures) == 1 and "measure" not in frame:
        frame = frame.assign(measure=measures[0])
        if "run" not in frame and "score" not in frame:
            frame = _of_columns(frame, group)
    needed = [*COLUMNS, *([] if group is None else [group])]
    has = frame.columns.tolist()
    wrong = [column for column in needed if has.count(column) != 1]
    if wrong:
        number = "more than one" if wrong[0] in has else "no"
        others = ", ".join(COLUMNS.get(wrong[0], ())[1:])
        raise ValueError(
            Message(
                f"{name} has {number} column '{wrong[0]}'{f' (or {others})' if others else ''}; it "
                f"needs {', '.join(needed)} and has {some_of([*map(str, has)], 10)}. Of a table "
                "with a column for each run, or without measures, ",
                Option("measure"),
                " names the one.",
            )
        )
    unit = frame.index.name if frame.index.name in (LINE, ENTRY) else "row"
    place = frame.index if unit != "row" else pd.RangeIndex(len(frame))
    rows = frame[needed].set_axis([*COLUMNS, "group"][: len(needed)], axis=1).set_index(place)
    return rows.assign(where=f"{name}, {unit}")


def _of_columns(frame: pd.DataFrame, group: str | None) -> pd.DataFrame:
    """Rows of a table with one row for each topic, and one column for each run."""
    of_file = frame.index.name in (LINE, ENTRY)
    if "topic" not in frame:
        numbered = of_file or isinstance(frame.index, pd.RangeIndex)
        unnamed = [name for name in frame if name in ("", "Unnamed: 0") or name is np.nan]
        topics = frame.pop(unnamed[0]) if unnamed else range(1, len(frame) + 1)
        frame = frame.assign(topic=topics if numbered else frame.index)
    frame = frame if of_file else frame.reset_index(drop=True)
    kept = ["topic", "measure", *([] if group not in frame else [group])]
    rows = frame.melt(kept, var_name="run", value_name="score", ignore_index=False)
    return rows.loc[rows["score"].notna()]


def _checked(rows: pd.DataFrame, measures: list[str] | None) -> pd.DataFrame:
    """Rows with labels as text and scores as numbers, of the measures asked for, without means."""
    for column in rows.columns.intersection(["run", "topic", "measure", "group"]):
        text = as_text(pd.Series(rows[column]))
        unknown = (text.isna() | (text == "")).to_numpy()
        if unknown.any():
            raise ValueError(f"{_place(rows, unknown)}: the {column} is missing or empty.")
        rows = rows.assign(**{column: text})
    labels = {name: canonical(name) for name in rows["measure"].unique()}
    rows = rows.assign(measure=[labels[name] for name in rows["measure"]])
    rows = rows.loc[rows["topic"] != MEAN]
    if rows.empty:
        raise ValueError("there is no score of a topic; at least one is needed.")
    for label in measures or []:
        if label not in labels.values():
            there = some_of([*dict.fromkeys(labels.values())], 10)
            raise ValueError(f"there are no scores by the measure {label}; there are {there}.")
    rows = rows if measures is None else rows.loc[rows["measure"].isin(measures)]
    values = as_numbers(rows["score"])
    wrong = ~np.isfinite(values)
    if wrong.any():
        score = rows["score"].iloc[int(np.argmax(wrong))]
        raise ValueError(
            f"{_place(rows, wrong)}: score '{score}' is not a finite number, as every score must "
            "be."
        )
    return rows.assign(score=values)


def _place(rows: pd.DataFrame, wrong: NDArray[np.bool_]) -> str:
    """Text that names the first of some rows in a message."""
    row = int(np.argmax(wrong))
    one = rows.iloc[row]
    return (
        f"{one['where']} {rows.index[row]} (run '{one['run']}', topic '{one['topic']}', measure "
        f"{one['measure']})"
    )


def _refuse_twice(rows: pd.DataFrame, keys: list[str]) -> None:
    """Refuse two scores of one run, topic and measure."""
    again = rows.duplicated(keys).to_numpy()
    if again.any():
        same = (rows[keys] == rows[keys].iloc[int(np.argmax(again))]).all(axis=1).to_numpy()
        first = int(np.argmax(same))
        raise ValueError(
            f"{_place(rows, again)}: there is a score already, in {rows['where'].iloc[first]} "
            f"{rows.index[first]}; a run has one score of each topic and measure. Topics of tasks "
            "that share their names need topic_groups, the column of the tasks."
        )


def _dataset(rows: pd.DataFrame, topics: list[str]) -> xr.Dataset:
    """Scores (measure, run, topic) in the order in which they come; NaN where there is none."""
    measure, measures = pd.factorize(rows["measure"])
    run, runs = pd.factorize(rows["run"])
    topic, names = pd.factorize(pd.MultiIndex.from_arrays([rows[name] for name in topics]))
    estimate = np.full((len(measures), len(runs), len(names)), np.nan)
    estimate[measure, run, topic] = rows["score"]
    labels = [name[-1] for name in names]
    return _given(estimate, {"measure": measures, "run": runs, "topic": labels})


def _given(estimate: NDArray[np.floating], labels: dict[str, Any]) -> xr.Dataset:
    """Dataset of scores (measure, run, topic) that have no errors of their own."""
    coords = {name: np.asarray(values, dtype=str) for name, values in labels.items()}
    score = xr.DataArray(estimate, coords, ("measure", "run", "topic"))
    unknown = xr.full_like(score, np.nan)
    errors = {"standard_error": unknown, "degrees_of_freedom": unknown, "outside_weight": unknown}
    bounds = interval(score, unknown, ci_prob=0.9, degrees_of_freedom=unknown)
    attrs = {"estimator": GIVEN, "ci_prob": 0.9}
    return xr.Dataset({"estimate": score, **errors, "interval": bounds}, attrs=attrs)


def _warn_lacking(estimate: xr.DataArray, consequence: str) -> None:
    """Say which runs lack topics that others have."""
    lacking = estimate.isnull() & estimate.notnull().any("run")
    number = lacking.any("measure").sum("topic").to_numpy()
    if number.any():
        worst = int(number.argmax())
        warn(
            f"{int((number > 0).sum())} of {counted(number.size, 'run')} lack scores of topics "
            f"that others have, {counted(int(number.sum()), 'run-topic pair')} in all; run "
            f"{estimate['run'].to_numpy()[worst]} lacks most, {number[worst]} of "
            f"{counted(estimate.sizes['topic'], 'topic')}: these are left out of its means, and "
            f"{consequence}",
        )


def _tasks(topic_groups: Groups, topics: NDArray) -> list[str]:
    """Task of every topic."""
    members(topic_groups, topics)  # refuses what is no mapping of all topics to two tasks or more
    groups = topic_groups.to_series() if isinstance(topic_groups, xr.DataArray) else topic_groups
    of_topic = {str(topic): str(group) for topic, group in groups.items()}
    return [of_topic[topic] for topic in topics]


def _of_tasks(scores: xr.Dataset, task: list[str]) -> xr.Dataset:
    """Scores of tasks, means over topics; NaN where a run lacks a topic that others have."""
    code, names = pd.factorize(np.asarray(task, dtype=str))
    one = (code[:, None] == np.arange(len(names))).astype(float)
    estimate = scores["estimate"].to_numpy()
    known = ~np.isnan(estimate)
    number, needed = known @ one, known.any(axis=1, keepdims=True) @ one
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.where(number == needed, np.nan_to_num(estimate) @ one / number, np.nan)
    labels = {name: scores[name].to_numpy() for name in ("measure", "run")}
    return _given(mean, labels | {"topic": names})
