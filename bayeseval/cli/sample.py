"""`bayeseval sample`: which documents to judge, and the design that says with which probability."""

import warnings
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

import bayeseval as be
from bayeseval.cli import options as option
from bayeseval.cli.notes import note_depth
from bayeseval.cli.options import DataArray, DataFrame, Dataset, DataTree, grouped
from bayeseval.cli.output import STDOUT, check_outputs, note, working, write_result, written_whole
from bayeseval.cli.reading import input_files, label_files, labelled
from bayeseval.messages import counted
from bayeseval.whole_file import is_special

SCHEMES = {  # in designs
    "order": "order",
    "pps": "pps_strata",
    "uniform": "uniform_strata",
    "poisson": "poisson",
}
Scheme = Annotated[
    Literal[*SCHEMES],  # pyright: ignore[reportInvalidTypeForm]
    typer.Option(
        help="A list to judge as far as you like (order), or a sample of --budget documents that "
        "favours those near the top of the runs (pps, poisson), or none (uniform)."
    ),
]
SampledMeasures = Annotated[
    list[str] | None,
    typer.Option(
        "--measure",
        "-m",
        help="Measures that the list is for: P@10, AP, ...; repeatable.",
        show_default="a list that is good for all measures",
    ),
]
Budget = Annotated[
    int | None,
    typer.Option(
        help="Judgments per topic in all, those of --certain or --judged included.",
        show_default="the whole list, to be judged as far as you like",
    ),
]
CertainQrels = Annotated[
    str | None,
    typer.Option(
        metavar="QRELS",
        help="Existing judgments to keep, of an old pool; --budget counts them.",
        show_default=False,
    ),
]
DesignContinued = Annotated[
    Path | None,
    typer.Option(
        help="Design file of a list to go on with (--scheme order): to a --budget, or with the "
        "documents of later RUNs.",
        show_default=False,
    ),
]
JudgedQrels = Annotated[
    str | None,
    typer.Option(
        metavar="QRELS", help="Judgments of the list of --design so far.", show_default=False
    ),
]
DesignWritten = Annotated[
    Path, typer.Option(help="New design file (- is stdout); `evaluate --design` reads it.")
]
PoolDepth = Annotated[
    int | None, typer.Option(help="Sample from the top ranks of each run only.", show_default="all")
]


@grouped
def sample(
    design_file: DesignWritten,
    runs: option.SampledRuns = None,
    measure: SampledMeasures = None,
    budget: Budget = None,
    output: option.OutputFile = None,
    scheme: Scheme = "order",  # pyright: ignore[reportInvalidTypeForm]
    pool_depth: PoolDepth = None,
    depth: option.Depth = None,
    labels: option.Labels = None,
    exclude: option.Exclude = None,
    certain: CertainQrels = None,
    design: DesignContinued = None,
    judged: JudgedQrels = None,
    unjudgeable: option.Unjudgeable = "error",
    seed: option.Seed = None,
) -> None:
    """Choose documents to judge, at random with known probabilities.

    Writes the list, lines `topic TAB document`, and the design file. Judge the list from its
    beginning, write the judgments as qrels, and run `bayeseval evaluate --design`. The list is in
    rounds, each by topic, in random order: stop at any line after the first round, and go on
    later. An --output that ends in .csv is a table with the column `round` and an empty column
    `grade`: with grades filled in, as far as they go, it is the QRELS of `evaluate`.

    `sample --design design.nc --judged judged.csv --budget 80 ...` lists what comes next up to 80
    documents a topic. `sample NEW_RUN... --design design.nc --judged judged.csv ...` adds the
    documents of later runs, and lists those of the rounds that are judged. Both write a design
    file for all judgments together.

    The samples of other schemes are judged whole, in random order within each topic.
    """
    runs, judges = runs or [], label_files(labels)
    begins = {"--measure": measure, "--pool-depth": pool_depth, "--certain": certain}
    begins |= {"--seed": seed, "--scheme": None if scheme == "order" else scheme}
    continues = {"--judged": judged, "--unjudgeable": unjudgeable != "error" or None}
    _check_options(design, runs, budget, bool(judges), begins, continues)
    _check_files(
        design_file,
        output,
        input_files([certain, judged], runs, [design, exclude, *judges.values()]),
    )
    collection: Any = None
    if runs:
        collection = be.read_collection(certain, runs, depth=depth, exclude=exclude)
        collection = labelled(collection, labels)
    if design is None:
        kept = {} if certain is None else _kept(collection)
        options = {"budget": budget, "pool_depth": pool_depth, **kept}
        options |= {"labels": list(judges)} if judges else {}
        options |= {"measures": measure} if measure else {}
        made, listed = _begun(collection, scheme, options, option.checked_seed(seed))
    else:
        known = _judged(str(judged), unjudgeable)
        made, listed = _continued(be.read_design(design), collection, known, budget)
    with written_whole(design_file) as unfinished:
        be.save_design(made, unfinished)
    _write_list(listed, output)  # after the design, without which its judgments would be lost
    if collection is not None:
        note_depth(collection, depth)
    if design is None:
        _note_sample(made, listed, kept.get("certain"))


def _write_list(listed: DataFrame, output: Path | None) -> None:
    """Write the list, a table or lines as its name ends."""
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


def _kept(collection: DataTree) -> dict:
    """What keeps the judged pairs in a design."""
    judged = collection["judgments/grade"].notnull()
    if not judged.any():
        raise ValueError("--certain has no judgment to keep; leave it out")
    return {"certain": judged, "frame": "retrieved"}


def _begun(
    collection: DataTree, scheme: str, options: dict[str, Any], seed: int
) -> tuple[Dataset, DataFrame]:
    """A design, with its sample if the scheme draws one, and its list."""
    import numpy as np

    from bayeseval.designs.attach import warn_enlarged
    from bayeseval.designs.stratified import FewerStrata

    make = getattr(be.designs, SCHEMES[scheme])
    strata_seed, draw_seed, order_seed = map(int, np.random.SeedSequence(seed).generate_state(3))
    with working("sampling"), warnings.catch_warnings():
        warnings.simplefilter("ignore", FewerStrata)  # nobody asked for a number
        if scheme == "order":
            design = make(collection, **options, random_seed=seed).assign_attrs(command_seed=seed)
            return design, be.designs.to_judge(design)
        options |= {"random_seed": strata_seed} if scheme == "uniform" else {}
        design = make(collection, **options).assign_attrs(command_seed=seed)
        design = design.assign(selected=be.draw(design, random_seed=draw_seed))
    warn_enlarged(design)
    judged = collection if "certain" in options else None
    return design, be.designs.to_judge(design, judged, random_seed=order_seed)


def _judged(path: str, unjudgeable: str) -> DataFrame:
    """Judgments of a list, whose other rows wait for their grades."""
    from bayeseval.trec.qrels import GradesMissing

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GradesMissing)
        rows = be.trec.read_qrels(path, unjudgeable=unjudgeable)
    return rows.loc[rows["grade"] >= 0]


def _continued(
    order: Dataset, collection: DataTree | None, judged: DataFrame, budget: int | None
) -> tuple[Dataset, DataFrame]:
    """The design with later runs or another budget, and the part of its list to judge next."""
    design = be.designs.extend(order, collection, budget=budget)
    listed = be.designs.to_judge(design, judged, budget=budget)
    if listed.empty:
        raise ValueError(
            "there is nothing more to judge: --judged holds all documents that this list asks "
            "for; a larger --budget asks for more, as far as there are documents"
        )
    note(f"{counted(len(listed), 'document')} to judge, besides {len(judged)} already judged")
    if collection is not None:
        added = design.sizes["pair"] - order.sizes["pair"]
        note(f"later runs add {counted(added, 'document')}, in strata of their own")
    return design, listed


def _check_files(design_file: Path, output: Path | None, inputs: list[Path]) -> None:
    """Refuse files that cannot be written, and those that judgments may be in or depend on."""
    check_outputs({"--design-file": design_file, "--output": output}, inputs)
    ending = option.output_ending(output)
    if ending in {".json", *option.OTHER_FORMATS} - {".tsv", ".tab"}:  # the lines have a tab
        raise ValueError(
            f"--output {output}: sample writes no {ending}; a name that ends in .csv gives a "
            "table, any other lines `topic TAB document`"
        )
    if output is not None and output != STDOUT and output.is_file() and output.stat().st_size:
        raise ValueError(f"{output} exists, and may hold judgments; name another --output")
    if design_file == STDOUT or not design_file.exists() or is_special(design_file):
        return
    if design_file.stat().st_size:  # an empty file loses nothing
        raise ValueError(
            f"{design_file} exists, and judgments made for its sample cannot be evaluated without "
            "it; name another --design-file"
        )


def _check_options(
    design: Path | None,
    runs: list[str],
    budget: int | None,
    has_labels: bool,
    begins: dict[str, Any],
    continues: dict[str, Any],
) -> None:
    """Refuse options that would have no effect on a new list, or on one that goes on."""
    given = [
        flag
        for flag, value in (continues if design is None else begins).items()
        if value is not None
    ]
    if design is not None:
        if given:
            raise ValueError(
                f"{given[0]} is for a new list; that of --design goes on as it was made"
            )
        if continues["--judged"] is None:
            raise ValueError("--design goes on with a list; give what is judged of it by --judged")
        if has_labels and not runs:
            raise ValueError("--labels goes with RUN, whose documents the labels are of")
        return
    if given:
        raise ValueError(f"{given[0]} goes with --design, whose list it goes on with")
    if not runs:
        raise ValueError(
            "no RUN to sample from; --design and --judged go on with a list without one"
        )
    scheme = begins["--scheme"]
    if scheme is not None and budget is None:
        raise ValueError(f"--scheme {scheme} needs a --budget; order lists all documents")
    if scheme is not None and begins["--measure"]:
        raise ValueError(f"--measure goes with --scheme order; {scheme} favours no measure")
    if has_labels and scheme == "uniform":
        raise ValueError(
            "--labels goes with --scheme order, pps or poisson; uniform ignores labels"
        )


def _note_sample(design: Dataset, listed: DataFrame, kept: DataArray | None) -> None:
    """Say how many documents there are to judge, and from what frame."""
    import numpy as np

    from bayeseval.collection.schema import design_parameters
    from bayeseval.designs.judging_list import is_order

    n_topics, parameters = design.sizes["topic"], design_parameters(design)
    in_frame = ((design["inclusion_probability"] > 0) | (design["stratum"] >= 0)).to_numpy()
    size = np.bincount(design["pair_topic"].to_numpy()[in_frame], minlength=n_topics)
    depth, budget = parameters["pool_depth"], parameters["budget"]
    rule = parameters["frame"] + ("" if depth is None else f" to rank {depth}")
    besides = "" if kept is None else f", besides {int(kept.sum())} already judged"
    note(
        f"{counted(len(listed), 'document')} to judge from a frame of {size.sum()} ({rule}), "
        f"{counted(n_topics, 'topic')}{besides}, seed {design.attrs['command_seed']}"
    )
    if not len(listed):
        note("every document of the frame is already judged: there is nothing left to judge")
        return
    if budget is None:
        note(
            "the list holds the whole frame, in rounds: judge it as far as you like, from its "
            "beginning; judge at least round 1, "
            f"{counted(int(listed['round'].eq(1).to_numpy().sum()), 'document')}"
        )
        return
    if is_order(design):
        first = int(listed["round"].eq(1).to_numpy().sum())
        note(f"judge at least round 1, {counted(first, 'document')}")
    # one document is drawn of all strata that are not judged whole
    drawn = design["stratum_sample_size"]
    partly = drawn < design["stratum_size"]
    by_chance = np.bincount(design["stratum_topic"][partly], weights=drawn[partly])
    drawn_once = int((by_chance == 1).sum())
    if drawn_once:
        note(
            f"in {counted(drawn_once, 'topic')} one judged document will represent others, which "
            "gives no standard error: --budget 2 or more gives intervals"
        )
    covered = (size <= np.asarray(budget)) & (size > 0)
    if covered.all():
        unjudged = "" if kept is None else " not judged yet"
        note(f"the budget covers the whole frame: judge all {len(listed)} documents{unjudged}")
    elif covered.any():
        n_listed = np.isin(listed["topic"], design["topic"].to_numpy()[covered]).sum()
        note(
            f"the budget covers the whole frame of {counted(int(covered.sum()), 'topic')}: judge "
            f"all {counted(int(n_listed), 'document')} there"
        )
