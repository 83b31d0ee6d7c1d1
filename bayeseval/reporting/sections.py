"""The section of one measure: what it is, a table of runs, pictures, and runs in pairs."""

from typing import Any

import numpy as np
import xarray as xr

import bayeseval as be
from bayeseval.combination import UNLIKE
from bayeseval.messages import SHOWN, percent
from bayeseval.plots.style import rows_axes
from bayeseval.reporting.answer import Answers
from bayeseval.reporting.page import figure, paired, paragraph, table
from bayeseval.reporting.words import definition, weight_column
from bayeseval.tidy import BOUNDS, with_bounds

PICTURED = 30  # runs in one picture of intervals, which then fits a printed page
WIDTH = 5.2  # of a picture, in inches: its text is legible where a phone makes it smaller
PAIRED = 20  # runs in a table of pairs, which then fits a printed page too


def shown_answers(answers: list[Answers]) -> dict[str, Answers]:
    """Answers by measure: the last that has it, which is combined with a model where one is."""
    return {label: one for one in answers for label in one.scores["measure"].to_numpy().tolist()}


def measure_section(label: str, answers: Answers, named: set[str]) -> tuple[str, str]:
    """Title and text of a section; the words of its table are added to ``named``."""
    place = {"measure": label}
    one = with_bounds(answers.scores).sel(place)
    unlike = one["estimate"].isnull() & False
    if answers.compared is not None:
        unlike = answers.compared["unlike_model"].sel(place) > UNLIKE
    order = np.argsort(-one["estimate"].fillna(-np.inf).to_numpy(), kind="stable")
    best = one.assign(unlike=unlike).isel(run=order)
    runs = best["run"].to_numpy()
    sets = None if answers.sets is None else answers.sets.sel(place).sel(run=runs)
    columns = _columns(label, best, sets, answers.scores.attrs)
    named |= set(columns) | {note for cell in columns.get("note", []) for note in cell.split(", ")}
    rows = zip(*columns.values(), strict=True)
    group = np.ones(runs.size) if sets is None else sets["tie_group"].to_numpy()
    apart = (1 + np.flatnonzero(np.diff(group))).tolist()
    sentence = f"By {answers.name}."
    if sets is not None and runs.size > 2:
        level = percent(answers.scores.attrs["ci_prob"])
        pairs = runs.size * (runs.size - 1) // 2
        number = int(sets["separated"].sum()) or "none"
        sentence = (
            f"By {answers.name}, the better run is known in {number} of the {pairs} pairs of runs, "
            f"with {level} confidence for all pairs at once."
        )
    parts = [paragraph(text) for text in (definition(label), sentence) if text]
    parts.append(table(f"{label}, the best run first", list(columns), rows, apart))
    parts += _pictures(label, answers, runs)
    if answers.chances is not None:
        shown = runs[:PAIRED].tolist()
        better = answers.chances["better"].sel(place).sel(run=shown, run_other=shown)
        which = "" if len(shown) == runs.size else f", the best {len(shown)} runs"
        caption = (
            f"{label}: probability in % that the run of the row is better than the run of the "
            f"column{which}"
        )
        parts.append(paired(caption, shown, better.transpose("run", "run_other").to_numpy()))
    return label, "".join(parts)


def _columns(
    label: str, best: xr.Dataset, sets: xr.Dataset | None, attrs: dict
) -> dict[str, list[str]]:
    """Columns of the table, the best run first, without those that say nothing."""
    bounds = [
        (float(low), float(high)) for low, high in zip(best["lower"], best["upper"], strict=True)
    ]
    columns = {
        "run": [str(run) for run in best["run"].to_numpy()],
        label: [f"{score:z.3f}" for score in best["estimate"].to_numpy()],
        f"{percent(attrs['ci_prob'])} interval": [
            "" if np.isnan(low) else f"{low:z.3f} to {high:z.3f}" for low, high in bounds
        ],
    }
    if sets is not None:
        ranks = sets["interval"].transpose("run", "ci_bound").sel(ci_bound=list(BOUNDS)).to_numpy()
        columns["possible ranks"] = [
            f"{first}" if first == last else f"{first} to {last}" for first, last in ranks
        ]
        if int(sets["tie_group"].max()) > 1:
            columns["group"] = [str(group) for group in sets["tie_group"].to_numpy()]
    weight = best["outside_weight"].to_numpy()
    columns[weight_column(attrs["estimator"])] = [
        f"{share:.3f}" if share >= SHOWN else "" for share in weight
    ]
    columns["note"] = [_notes(best.isel(run=number)) for number in range(best.sizes["run"])]
    return {name: cells for name, cells in columns.items() if any(cells)}


def _notes(one: xr.Dataset) -> str:
    """What is to be said of one run."""
    known = one["group"] == "contributed" if "group" in one.coords else one.get("contributed", True)
    notes = [] if bool(known) else ["new"]
    return ", ".join([*notes, "unlike the model"] if bool(one["unlike"]) else notes)


def _pictures(label: str, answers: Answers, runs: np.ndarray) -> list[str]:
    """Intervals of the runs in this order, in as many pictures as are needed."""
    level, drawn, first = percent(answers.scores.attrs["ci_prob"]), [], 1
    for part in np.array_split(runs, -(-runs.size // PICTURED)):
        which = "" if part.size == runs.size else f", runs {first} to {first + part.size - 1}"
        first += part.size
        axes = rows_axes(0.24 * part.size, (1.2, 18.6), width=WIDTH)
        drawn_on: dict[str, Any] = {"runs": part.tolist(), "ax": axes}
        if answers.compared is None:
            be.plots.plot_intervals({answers.name: answers.scores}, label, **drawn_on)
            caption = f"{label} by {answers.name}, {level} intervals{which}"
        else:
            be.plots.plot_combined(answers.compared, label, **drawn_on)
            caption = (
                f"{label}: {level} intervals by the sample alone (pale), the model alone (orange) "
                f"and both combined (blue){which}"
            )
        drawn.append(figure(axes, caption))
    return drawn
