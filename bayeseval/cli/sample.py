"""`bayeseval sample`: which documents to judge, and the design that says with which probability."""

import warnings
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Literal

import typer

import bayeseval as be
from bayeseval.cli import options as option
from bayeseval.cli.notes import note_depth
from bayeseval.cli.options import Array, Dataset, DataTree, Rankings, grouped
from bayeseval.cli.output import STDOUT, check_outputs, note, working, write_result, written_whole
from bayeseval.cli.reading import input_files, label_files, labelled
from bayeseval.messages import counted
from bayeseval.whole_file import is_special

SCHEMES = {"pps": "pps_strata", "uniform": "uniform_strata", "poisson": "poisson"}  # in designs
Scheme = Annotated[
    Literal[*SCHEMES],  # pyright: ignore[reportInvalidTypeForm]
    typer.Option(
        help="Favour documents near the top of the runs (pps, poisson), or none (uniform)."
    ),
]


@grouped
def sample(
    runs: option.Runs,
    budget: option.Budget,
    design_file: option.DesignWritten,
    rankings: Rankings,
    output: option.OutputFile = None,
    overwrite: option.Overwrite = False,
    scheme: Scheme = "pps",  # pyright: ignore[reportInvalidTypeForm]
    n_strata: option.NStrata = None,
    pool_depth: option.PoolDepth = None,
    labels: option.Labels = None,
    certain: option.CertainQrels = None,
    qrels: option.KnownQrels = None,
    qrels_format: option.QrelsFormat = "qrels",
    negative_grades: option.NegativeGrades = "unjudged",
    seed: option.Seed = None,
) -> None:
    """Choose documents to judge, at random with known probabilities.

    Writes lines `topic TAB document`, in random order within each topic as an assessor should get
    them, and the design file. Judge all of them, write the judgments as qrels, and run `bayeseval
    evaluate --design`. An --output that ends in .csv is a table with an empty column `grade`: with
    grades filled in it is the QRELS of `evaluate`. With --certain QRELS the list is of further
    documents: evaluate old and new judgments together.
    """
    if certain is not None and qrels is not None:
        raise ValueError("--certain goes without --qrels, which simulates a sample")
    judges = label_files(labels)
    _check_files(
        design_file, output, overwrite, input_files([qrels, certain], runs, [*judges.values()])
    )
    _check_options(scheme, n_strata, qrels_format, judges)
    seed = option.checked_seed(seed)
    import numpy as np

    from bayeseval.designs.stratified import FewerStrata

    strata_seed, draw_seed, order_seed = map(int, np.random.SeedSequence(seed).generate_state(3))
    options = {"qrels_format": qrels_format, "negative_grades": negative_grades}
    collection = be.read_collection(certain or qrels, runs, **options, **asdict(rankings))
    collection = labelled(collection, labels)
    with working("sampling"), warnings.catch_warnings():
        if n_strata is None:  # nobody asked for a number
            warnings.simplefilter("ignore", FewerStrata)
        strata: dict = {} if n_strata is None else {"n_strata": n_strata}
        if certain is not None:
            strata |= _kept(collection, budget)
        strata |= {"random_seed": strata_seed} if scheme == "uniform" else {"labels": list(judges)}
        strata.setdefault("budget", budget)
        design_of = getattr(be.designs, SCHEMES[scheme])
        design = design_of(collection, pool_depth=pool_depth, **strata)
        selected = be.draw(design, random_seed=draw_seed)
    sampled = design.assign(selected=selected).assign_attrs(command_seed=seed)
    judged = None if certain is None else collection
    listed = be.designs.to_judge(sampled, judged, random_seed=order_seed)
    kept = strata.get("certain", np.zeros(collection["document"].size, dtype=bool))
    with written_whole(design_file) as unfinished:
        be.save_design(sampled, unfinished)
    # after the design, without which judgments of the list would be lost
    as_table = option.output_ending(output) == ".csv"
    lines = "".join(listed["topic"] + "\t" + listed["document"] + "\n")
    table = listed.assign(grade="").to_csv(index=False, lineterminator="\n")
    write_result(table if as_table else lines, output)
    names = (name for column in ("topic", "document") for name in listed[column])
    blank = next((name for name in names if name.split() != [name]), None)
    if blank is not None and not as_table:
        note(
            f"{blank!r} has blanks, which lines of judgments cannot hold: take an --output that "
            "ends in .csv, a table to fill in"
        )
    note_depth(collection, rankings.depth)
    _note_sample(sampled, kept, seed)


def _kept(collection: DataTree, budget: int) -> dict:
    """What keeps the judged pairs in a design, with a budget of further ones."""
    import numpy as np

    judged = collection["judgments/grade"].notnull().to_numpy()
    if not judged.any():
        raise ValueError("--certain has no judgment to keep; leave it out")
    if budget < 1:
        raise ValueError(f"--budget must be a whole number of judgments, 1 or more, not {budget}")
    n_topics = collection.sizes["topic"]
    number = np.bincount(collection["pair_topic"].to_numpy()[judged], minlength=n_topics)
    topics = collection["topic"].to_numpy().tolist()
    budgets = dict(zip(topics, (number + budget).tolist(), strict=True))
    return {"certain": judged, "budget": budgets, "frame": "retrieved"}


def _check_files(
    design_file: Path, output: Path | None, overwrite: bool, inputs: list[Path]
) -> None:
    """Refuse files that cannot be written, and those that judgments may be in or depend on."""
    import h5py

    check_outputs({"--design-file": design_file, "--output": output}, inputs)
    ending = option.output_ending(output)
    if ending in {".json", *option.OTHER_FORMATS} - {".tsv", ".tab"}:  # the lines have a tab
        raise ValueError(
            f"--output {output}: sample writes no {ending}; a name that ends in .csv gives a "
            "table, any other lines `topic TAB document`"
        )
    if output is not None and output != STDOUT and output.is_file() and not overwrite:
        if output.stat().st_size:  # an empty file loses nothing
            raise ValueError(
                f"{output} exists, and may hold judgments; name another --output, or replace it "
                "with --overwrite"
            )
    if design_file == STDOUT or not design_file.exists() or is_special(design_file):
        return
    if not overwrite:
        raise ValueError(
            f"{design_file} exists, and judgments made for its sample cannot be evaluated without "
            "it; name another --design-file, or replace it with --overwrite"
        )
    if design_file.stat().st_size:  # a design of whatever version, not a fit or a collection
        holds_design = h5py.is_hdf5(design_file)
        if holds_design:
            with h5py.File(design_file) as opened:
                holds_design = "scheme" in opened.attrs
        if not holds_design:
            raise ValueError(f"{design_file} is no design file, and --overwrite replaces no other")


def _check_options(scheme: str, n_strata: int | None, qrels_format: str, judges) -> None:
    """Refuse options that would have no effect."""
    if judges and scheme == "uniform":
        raise ValueError("--labels goes with --scheme pps or poisson; uniform ignores labels")
    if scheme == "poisson" and n_strata is not None:
        raise ValueError("--n-strata goes with --scheme pps or uniform; poisson has no strata")
    if qrels_format != "qrels":
        raise ValueError(
            f"sample takes its known judgments as plain qrels, not {qrels_format}, which are "
            "judgments of a sample already"
        )


def _note_sample(design: Dataset, kept: Array, seed: int) -> None:
    """Say how many documents there are to judge, among which."""
    import numpy as np

    from bayeseval.collection.schema import design_parameters

    n_selected = int((design["selected"].to_numpy() & ~kept).sum())
    parameters = design_parameters(design)
    in_frame = ((design["inclusion_probability"] > 0) | (design["stratum"] >= 0)).to_numpy()
    pair_topic = design["pair_topic"].to_numpy()
    topics = pair_topic[in_frame]
    depth = parameters["pool_depth"]
    rule = parameters["frame"] + ("" if depth is None else f" to rank {depth}")
    besides = f", besides {int(kept.sum())} already judged" if kept.any() else ""
    note(
        f"{counted(n_selected, 'document')} to judge from a frame of {topics.size} ({rule}), "
        f"{counted(design.sizes['topic'], 'topic')}{besides}, seed {seed}"
    )
    # topics of which one document is drawn, except in strata that are judged whole
    stratum, selected = design["stratum"].to_numpy(), design["selected"].to_numpy()
    inside = stratum >= 0
    whole = np.bincount(stratum[inside], weights=~selected[inside]) == 0
    by_chance = inside & selected
    by_chance[inside] &= ~whole[stratum[inside]]
    drawn_once = int((np.bincount(pair_topic[by_chance]) == 1).sum())
    if drawn_once:
        note(
            f"in {counted(drawn_once, 'topic')} one judged document will represent others, which "
            "gives no standard error: --budget 2 or more gives intervals"
        )
    size = np.bincount(topics, minlength=design.sizes["topic"])
    covered = (size <= np.asarray(parameters["budget"])) & (size > 0)
    size -= np.bincount(pair_topic[in_frame & kept], minlength=design.sizes["topic"])
    if covered.all() and not size.any():
        note("every document of the frame is already judged: there is nothing left to judge")
    elif covered.all():
        unjudged = " not judged yet" if kept.any() else ""
        note(f"the budget covers the whole frame: judge all {size.sum()} documents{unjudged}")
    elif covered.any():
        note(
            f"the budget covers the whole frame of {counted(int(covered.sum()), 'topic')}: judge "
            f"all {counted(int(size[covered].sum()), 'document')} there"
        )
