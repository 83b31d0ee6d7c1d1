"""Joining a design and its judgments to a collection, always by topic and document label."""

import json
import os
import warnings
from collections.abc import Sequence

import numpy as np
import pandas as pd
import xarray as xr

from bayeseval.collection import add_pairs, check_collection, pair_positions, with_node
from bayeseval.collection.choices import check_choice
from bayeseval.collection.labels import alike_document, floating_topics, pair_names
from bayeseval.collection.schema import describe_pair, design_parameters
from bayeseval.designs.files import read_design
from bayeseval.designs.judging_list import (
    before_gaps,
    certain_pairs,
    drawn_to,
    is_order,
    judged_to,
    without_first_round,
)
from bayeseval.designs.placing import (
    check_design,
    drawn_counts,
    frame_pairs,
    own_sample,
    placed_design,
    placed_sample,
    sample_values,
)
from bayeseval.frame.rankings import Rankings
from bayeseval.frame.sample import grade_scale
from bayeseval.messages import Message, Option, counted, some_of
from bayeseval.trec import read_qrels
from bayeseval.trec.qrels import UNJUDGEABLE, GradesMissing, warn_below


def reveal(
    collection: xr.DataTree,
    design: xr.Dataset,
    selected: xr.DataArray | None = None,
    *,
    unjudged: str = "error",
) -> xr.DataTree:
    """Collection in which only the selected judgments are known: a simulated assessment.

    Parameters
    ----------
    collection : DataTree
        Collection with the judgments taken as the truth.
    design : Dataset
        The design; attached to the result.
    selected : bool DataArray (pair,) or (replicate, pair), optional
        What ``draw`` returned for this design (counts, for draws with replacement). Default: the
        sample that the design holds (``selected`` or ``draw_count``), and every pair of a
        deterministic design.
    unjudged : {"error", "nonrelevant"}
        What to do with selected pairs that have no grade: refuse, or give grade 0, the convention
        of the papers.

    Returns
    -------
    DataTree
        The collection with ``/design`` and with ``/judgments`` hidden where not selected; for draws
        with replacement ``/judgments`` has ``draw_count`` too.

    Raises
    ------
    ValueError
        A selected pair without a grade; no sample, or one of another design; a collection without
        judgments.

    Examples
    --------
    >>> import pandas as pd, bayeseval as be
    >>> run = pd.DataFrame({"run": "a", "topic": "1", "document": list("abcd")})
    >>> qrels = pd.DataFrame({"topic": "1", "document": list("abcd"), "grade": [1, 0, 1, 0]})
    >>> collection = be.read_collection(qrels, run.assign(score=[4, 3, 2, 1]))
    >>> design = be.designs.pps_strata(collection, budget=2, n_strata=1)
    >>> sampled = be.reveal(collection, design, be.draw(design, random_seed=1))
    >>> int(sampled["judgments/grade"].notnull().sum())
    2
    """
    check_collection(collection)
    if "judgments" not in collection.children:
        raise ValueError("reveal needs a collection with judgments to take as the truth")
    check_choice("unjudged", unjudged, ("error", "nonrelevant"))
    check_design(design)
    if selected is None:
        hint = "give selected, which be.draw(design, random_seed=...) returns"
        selected = own_sample(design, hint)
    values = sample_values(design, selected)
    if is_order(design):
        design = drawn_to(design, values)
    sample = placed_sample(collection, design, values)
    mask = sample > 0
    truth = collection["judgments/grade"].to_numpy()
    if truth.ndim != 1:
        raise ValueError("reveal starts from the truth, not from replicates of a sample")
    if unjudged == "nonrelevant":
        truth = np.where(np.isnan(truth), np.float32(0.0), truth)
    missing = np.flatnonzero((mask & np.isnan(truth)).reshape(-1, truth.size).any(axis=0))
    if missing.size:
        raise ValueError(
            f"{missing.size} selected pairs have no grade, the first is "
            f"{describe_pair(collection, missing[0])}; "
            "use a frame of judged pairs, or unjudged='nonrelevant' to count them as grade 0"
        )
    grade = np.where(mask, truth, np.float32(np.nan))
    known = collection.children["judgments"].to_dataset(inherit=False)
    attrs = {"grade_scale": json.dumps(grade_scale(collection))}
    if "seed" in getattr(selected, "attrs", {}):
        attrs["draw_seed"] = selected.attrs["seed"]
    dims = ("replicate", "pair")[-grade.ndim :]
    judgments = known.drop_vars(["grade", "draw_count"], errors="ignore")
    judgments = judgments.assign(grade=(dims, grade)).assign_attrs(attrs)
    if design.attrs["scheme"] == "with_replacement":
        judgments = judgments.assign(draw_count=(dims, sample.astype(np.int64)))
    designed = with_node(collection, "design", placed_design(collection, design))
    return with_node(designed, "judgments", judgments)


def attach_judgments(
    collection: xr.DataTree,
    design: str | os.PathLike | xr.Dataset,
    qrels: str | os.PathLike | pd.DataFrame,
    *,
    grades: Sequence[float] | None = None,
    negative_grades: str = "unjudged",
    unjudgeable: str = "error",
) -> xr.DataTree:
    """Collection with the judgments that came back for a design.

    Parameters
    ----------
    collection : DataTree
        Rankings to evaluate; they may include runs that were not there at the time of the design.
    design : Dataset or path
        The design, or its file, with ``selected`` where the sample is known; draws with
        replacement need their ``draw_count``.
    qrels : path or DataFrame (topic, document, grade)
        The judgments. A topic without any judgment has not been judged yet, and its scores are
        NaN. The sample of a Poisson design may be empty in a topic: there this holds only where
        the design has ``selected`` pairs in the topic. The judgments of an order are the beginning
        of each stratum's list. A judgment after an unjudged document of its stratum is set aside,
        with a warning, and so is a topic without its first round.
    grades : sequence of float, optional
        Grades that the assessors could give. Default: the grades in ``qrels``; then a measure of
        gains by the difference estimator is exactly unbiased only where every grade is certain to
        occur.
    negative_grades : {"unjudged", "judged"}
        Whether a negative grade means not judged, or is a grade.
    unjudgeable : {"error", "nonrelevant"}
        Whether the word ``unjudgeable`` in place of a grade, for a document that nobody can judge,
        is an error, or counts as judged and not relevant.

    Returns
    -------
    DataTree
        The collection with ``/design`` and ``/judgments``; pairs of the frame that no run retrieves
        are added.

    Raises
    ------
    ValueError
        A judged pair with inclusion probability 0; a selected pair without a judgment or a judged
        one that was not selected; a stratum with another number of judgments than the design drew;
        an order of which no topic has its first round;
        a design whose topics or documents are not the collection's, or a run none of whose topics
        is the design's.

    Examples
    --------
    >>> import pandas as pd, bayeseval as be
    >>> run = pd.DataFrame({"run": "a", "topic": "1", "document": list("abcd")})
    >>> collection = be.read_collection(None, run.assign(score=[4, 3, 2, 1]))
    >>> design = be.designs.pps_strata(collection, budget=4, n_strata=1)
    >>> qrels = pd.DataFrame({"topic": "1", "document": list("abcd"), "grade": [1, 0, 1, 0]})
    >>> be.attach_judgments(collection, design, qrels)["judgments/grade"].values
    array([1., 0., 1., 0.], dtype=float32)
    """
    check_collection(collection)
    if isinstance(design, str | os.PathLike):
        design = read_design(design)
    check_design(design)
    source = _source(qrels)
    with warnings.catch_warnings():
        if is_order(design):  # where rows of a list wait for their grades
            warnings.simplefilter("ignore", GradesMissing)
        listed = read_qrels(qrels, unjudgeable=unjudgeable)
    check_choice("negative_grades", negative_grades, ("unjudged", "judged"))
    below = (listed["grade"] < 0) & (negative_grades == "unjudged")
    judged, declined = (listed.loc[rows] for rows in (listed["grade"].notna() & ~below, below))
    labels = np.asarray(judged["topic"]), np.asarray(judged["document"])
    in_design = pair_positions(design, *labels)
    _check_topics(design, labels[0], source)
    _check_in_frame(design, in_design, judged, source)
    if is_order(design):
        design, used = _judged_beginning(design, in_design, source)
        judged, in_design = judged.loc[used], in_design[used]
        labels = np.asarray(judged["topic"]), np.asarray(judged["document"])
    else:
        _check_complete(design, in_design, source, declined)
        warn_enlarged(design)
    if negative_grades == "unjudged":
        warn_below(listed["grade"].to_numpy())
    frame = pair_names(design, np.flatnonzero(frame_pairs(design)))
    _check_belongs(collection, *frame)
    grown = add_pairs(collection, *frame)
    grade = np.full(grown.sizes["pair"], np.nan, dtype=np.float32)
    where = pair_positions(grown, *labels)
    grade[where] = np.asarray(judged["grade"])
    placed = placed_design(grown, design)
    judgments = xr.Dataset({"grade": ("pair", grade), "pooled": ("pair", frame_pairs(placed))})
    if design.attrs["scheme"] == "with_replacement":
        count = design["draw_count"].to_numpy().astype(np.int64)
        judgments["draw_count"] = ("pair", placed_sample(grown, design, count))
    unfinished = _not_begun(design, in_design)
    if unfinished:
        judgments = judgments.assign_attrs(not_begun=json.dumps(unfinished))
    if grades is not None:
        _check_grades(judged, grades, source)
        scale = sorted({float(value) for value in grades})
        judgments = judgments.assign_attrs(grade_scale=json.dumps(scale))
    return with_node(with_node(grown, "design", placed), "judgments", judgments)


def _source(qrels) -> str:
    """Name of judgments in a message."""
    files = qrels if isinstance(qrels, list | tuple) else [qrels]
    if isinstance(qrels, pd.DataFrame):
        return "the DataFrame"
    if all(isinstance(file, str | os.PathLike) for file in files):
        return ", ".join(f"'{file}'" for file in files)
    return "the set of judgments"


def _judged_beginning(
    design: xr.Dataset, judged: np.ndarray, source: str
) -> tuple[xr.Dataset, np.ndarray]:
    """Order judged as far as its lists have no gap, and the judgments (judgment,) that count.

    ``judged`` (judgment,) holds rows of the design.
    """
    came_back = np.zeros(design.sizes["pair"], dtype=bool)
    came_back[judged] = True
    certain = certain_pairs(design) & ~came_back
    missing = certain & np.isin(design["pair_topic"], design["pair_topic"][judged])
    if missing.any():
        raise ValueError(
            f"{source} has no judgment for {counted(int(missing.sum()), 'certain pair')}, the "
            f"first is {describe_pair(design, int(np.argmax(missing)))}; give both files of "
            "judgments together"
        )
    used = before_gaps(design, came_back)
    waiting = without_first_round(judged_to(design, used))
    pair_topic, topics = design["pair_topic"].to_numpy(), np.arange(waiting.size)
    begun = np.isin(topics, pair_topic[came_back])
    unfinished = waiting & begun
    if unfinished.any():
        names = some_of([f"'{topic}'" for topic in design["topic"].to_numpy()[unfinished]], 5)
        whose = f"of {counted(int(unfinished.sum()), 'topic')} ({names})"
        if 2 * unfinished.sum() > begun.sum():
            raise ValueError(
                f"{source} has no judgment for some documents of round 1 {whose}; a topic needs "
                "the whole first round, and all judgments of the list together, in one file or as "
                "a glob such as 'judged/*'; are these the judgments of another list?"
            )
        warnings.warn(
            f"the judgments {whose} are set aside, because round 1 is not judged whole",
            stacklevel=3,
        )
    skipped = came_back & ~used & ~waiting[pair_topic]
    if skipped.any():
        number = int(skipped.sum())
        warnings.warn(
            f"{counted(number, 'judgment')} {'is' if number == 1 else 'are'} set aside, because a "
            f"document that comes before in the list was skipped (the first is that of "
            f"{describe_pair(design, int(np.argmax(skipped)))}); judge the list in its order, and "
            f"write {UNJUDGEABLE} as the grade of a document that nobody can judge",
            stacklevel=3,
        )
    used &= ~waiting[pair_topic]
    return judged_to(design, used, waiting), used[judged]


def warn_enlarged(design: xr.Dataset) -> None:
    """Warn that a sample with certain documents, which are no order, may have long intervals."""
    if design_parameters(design).get("n_certain") and not is_order(design):
        warnings.warn(
            Message(
                "the certain documents count for themselves alone: if they are an earlier sample, "
                "intervals may be twice as long as those of one sample of all; ",
                Option("scheme", "order", "be.designs.order"),
                " gives a list that can simply be judged further",
            ),
            stacklevel=3,
        )


def _check_grades(judged: pd.DataFrame, grades: Sequence[float], source: str) -> None:
    strange = judged.loc[~judged["grade"].isin(list(grades))]
    if len(strange):
        first = strange.iloc[0]
        raise ValueError(
            f"{source} has grade {first.grade:g} for topic '{first.topic}' document "
            f"'{first.document}'; allowed: {', '.join(f'{value:g}' for value in grades)}"
        )


def _check_complete(
    design: xr.Dataset, judged: np.ndarray, source: str, declined: pd.DataFrame
) -> None:
    """Judged design rows must be exactly the sample, in every topic whose judging has begun."""
    came_back = np.zeros(design.sizes["pair"], dtype=bool)
    came_back[judged] = True
    pair_topic = design["pair_topic"].to_numpy()
    begun = np.isin(np.arange(design.sizes["topic"]), pair_topic[came_back])
    drawn = design.attrs["scheme"] == "with_replacement"
    if drawn or "selected" in design:
        sample = drawn_counts(design, source) if drawn else design["selected"].to_numpy()
        asked = sample.astype(bool)
        missing, extra = asked & ~came_back & begun[pair_topic], came_back & ~asked
        if missing.any():
            row = pair_positions(design, declined["topic"], declined["document"])
            n_declined = int(missing[row[row >= 0]].sum())
            raise ValueError(_missing_pairs(design, asked, came_back, missing, source, n_declined))
        if extra.any():
            raise ValueError(
                f"{source} judges {int(extra.sum())} pairs that were not selected, the first is "
                f"{describe_pair(design, int(np.argmax(extra)))}; the estimates need exactly the "
                "selected pairs: leave out the others, or give the design of the sample that was "
                "judged"
            )
        return
    stratum = design["stratum"].to_numpy()
    counts = np.bincount(stratum[came_back & (stratum >= 0)], minlength=design.sizes["stratum_id"])
    due = begun[design["stratum_topic"].to_numpy()]
    wrong = np.flatnonzero(due & (counts != design["stratum_sample_size"].to_numpy()))
    if wrong.size:
        topic = design["topic"].to_numpy()[design["stratum_topic"].to_numpy()[wrong[0]]]
        raise ValueError(
            f"{source} judges {counts[wrong[0]]} pairs of stratum {wrong[0]} (topic '{topic}') "
            f"where the design drew {int(design['stratum_sample_size'].to_numpy()[wrong[0]])}"
        )


def _missing_pairs(
    design: xr.Dataset,
    asked: np.ndarray,
    came_back: np.ndarray,
    missing: np.ndarray,
    source: str,
    n_declined: int,
) -> Message:
    """Which of the pairs asked for have no judgment, and what to do; masks over (pair,).

    ``n_declined`` of them have a negative grade.
    """
    number = int(missing.sum())
    certain, n_others = _certain_pairs(design)
    n_certain = max(int((missing & certain).sum()) - n_others, 0)
    parts = [
        f"{source} has no judgment for {number} of the selected pairs, the first is "
        f"{describe_pair(design, int(np.argmax(missing)))}; the estimates need exactly the "
        "selected pairs"
    ]
    if n_certain < number:
        parts.append(
            f": judge them ({UNJUDGEABLE} if nobody can), or leave out all judgments of "
            "a topic that is not finished"
        )
    if n_declined:
        parts += [
            f"; {n_declined} of these have a negative grade, which counts as not judged unless ",
            Option("negative_grades", "judged"),
        ]
    pair_topic, drawn = design["pair_topic"].to_numpy(), asked & ~certain
    begun = pair_topic[drawn & came_back]
    n_empty = np.setdiff1d(pair_topic[drawn], begun).size
    if n_empty:
        topics = "1 topic" if n_empty == 1 else f"{n_empty} topics"
        parts.append(f"; in {topics} none of those drawn is judged yet")
    if n_certain:
        least = "at least " if n_others else ""
        remedy = ": give both files of judgments together, as a glob such as 'judged/*'"
        parts += [f"; {least}{n_certain} of these came with ", Option("certain"), remedy]
    n_extra = int((came_back & ~asked).sum())
    if n_extra:
        other = "are these the judgments of another sample?"
        parts.append(f"; {n_extra} pairs that were not selected are judged: {other}")
    return Message(*parts)


def _certain_pairs(design: xr.Dataset) -> tuple[np.ndarray, int]:
    """Mask (pair,) of the pairs that were made certain, and how many others may be in it.

    A stratified design has them in the first stratum of their topic. In a Poisson design other
    pairs can have probability 1 as well.
    """
    stratum = design["stratum"].to_numpy()
    n_certain = design_parameters(design).get("n_certain", 0)
    if not n_certain:
        return np.zeros(stratum.size, dtype=bool), 0
    first = np.unique(design["stratum_topic"].to_numpy(), return_index=True)[1]
    sure = design["inclusion_probability"].to_numpy() == 1
    certain = sure & ((stratum < 0) | np.isin(stratum, first))
    return certain, max(int(certain.sum()) - n_certain, 0)


def _not_begun(design: xr.Dataset, judged: np.ndarray) -> list[str]:
    """Topics in which pairs were selected and none has been judged; none known otherwise."""
    pair_topic, topics = design["pair_topic"].to_numpy(), design["topic"].to_numpy()
    if "selected" not in design:
        if design.attrs["scheme"] == "poisson":
            warnings.warn(
                "the design does not record which pairs were selected, so that missing judgments "
                "of a Poisson sample cannot be noticed; they would count as not relevant. Save it "
                "as design.assign(selected=be.draw(design, random_seed=...))",
                stacklevel=3,
            )
        return []
    due = pair_topic[design["selected"].to_numpy().astype(bool)]
    return topics[np.setdiff1d(due, pair_topic[judged])].tolist()


def _check_in_frame(design: xr.Dataset, in_design: np.ndarray, judged, source: str) -> None:
    """Refuse judgments of pairs that the design cannot draw."""
    never = design["inclusion_probability"].to_numpy() == 0
    if is_order(design):  # every document of the list may be judged
        never = design["stratum"].to_numpy() < 0
    stray = np.flatnonzero((in_design < 0) | never[in_design])
    if stray.size:
        first = judged.iloc[stray[0]]
        raise ValueError(
            f"{source} has {counted(stray.size, 'judged pair')} with inclusion probability 0 in "
            f"the design, the first is topic '{first.topic}' document '{first.document}'"
            f"{alike_document(design, first.topic, first.document)}; only pairs of the frame can "
            "be judged; are these the judgments of another sample?"
        )


def _check_topics(design: xr.Dataset, judged: np.ndarray, source: str) -> None:
    """Refuse judgments none of whose topics is one of the design."""
    topics = design["topic"].to_numpy()
    if judged.size and not np.isin(judged, topics).any():
        raise ValueError(
            f"{source} has no topic in common with the design; it has '{judged[0]}' and so on, the "
            f"design has '{topics[0]}' and so on{floating_topics(judged[0], topics[0])}; are these "
            "the judgments of another sample?"
        )


def _check_belongs(collection: xr.DataTree, topics: np.ndarray, documents: np.ndarray) -> None:
    """At least some pairs of the frame must be retrieved by the collection's runs."""
    own = collection["topic"].to_numpy()
    common = np.isin(np.unique(topics), own)
    if not common.any():
        raise ValueError(
            f"the design does not belong to this collection: none of its topics (the first is "
            f"'{topics[0]}') is among the collection's (the first is "
            f"'{own[0]}'){floating_topics(topics[0], own[0])}; are these the runs and the design "
            "of one collection?"
        )
    if (pair_positions(collection, topics, documents) < 0).all():
        raise ValueError(
            "the design does not belong to this collection: no document of its frame occurs there"
        )
    _check_runs(collection, topics)


def _check_runs(collection: xr.DataTree, topics: np.ndarray) -> None:
    """Every run must have one of the topics of the frame: else it would score 0 throughout."""
    if "rankings" not in collection.children:
        return
    own = collection["topic"].to_numpy()
    has = Rankings.of(collection).length > 0
    strange = has.any(axis=1) & ~(has & np.isin(own, topics)).any(axis=1)
    if strange.any():
        run = int(np.argmax(strange))
        first = own[np.argmax(has[run])]
        raise ValueError(
            f"run '{collection['run'].to_numpy()[run]}' has no topic in common with the design; it "
            f"has '{first}' and so on, the design has '{topics[0]}' and so on"
            f"{floating_topics(first, topics[0])}"
        )
