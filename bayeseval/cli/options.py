"""Arguments and options of the commands."""

import secrets
from pathlib import Path
from typing import Annotated, Literal

import typer


def folder(name: str) -> Path:
    """Folder of an option, which an empty variable of a shell does not name."""
    if not str(name):
        raise typer.BadParameter("'' names no folder; . is this one.")
    return Path(name)


Runs = Annotated[
    list[str],
    typer.Argument(
        metavar="RUN",
        help="Run files or quoted globs; .gz, .xz, .bz2, .zst.",
        show_default=False,
    ),
]
QrelsFormat = Annotated[
    Literal["qrels", "sampleval", "prels", "probs"],
    typer.Option(help="Columns of QRELS; sampleval, prels and probs bring their design along."),
]
Depth = Annotated[int | None, typer.Option(help="Ranks read of every run.", show_default="all")]
OnDuplicate = Annotated[
    Literal["error", "best"],
    typer.Option(help="A document twice in a ranking: refuse, or keep the best-ranked copy."),
]
ScoreType = Annotated[
    Literal["float64", "float32"],
    typer.Option(help="Precision that scores are compared in; float32 as trec_eval before 10."),
]
CiProb = Annotated[float, typer.Option(help="Probability that an interval should cover.")]
Qrels = Annotated[str, typer.Argument(metavar="QRELS", help="Judgments.")]
Measures = Annotated[
    list[str],
    typer.Option("--measure", "-m", help='Such as P@10, "RBP(p=0.8)", nDCG@10, AP; repeat it.'),
]
Estimator = Annotated[
    str,
    typer.Option(
        help="assumed (unjudged is not relevant), condensed (unjudged is taken out), stat, dyn, "
        "inf (sampleval), stat_ap (prels), importance (drawn with replacement)."
    ),
]
Predictor = Annotated[
    str | None,
    typer.Option(
        help="Of dyn: pooled, rank_logistic, constant, constant:VALUE (0 to 1); with --labels "
        "pooled, recalibrated, external (as they are)."
    ),
]
Labels = Annotated[
    list[str] | None,
    typer.Option(
        metavar="[NAME=]FILE",
        help="Labels of an LLM or another assessor (topic iter document label, or CSV with a "
        "header line): dyn and fit learn what they are worth, sample sooner takes what they "
        "favour; repeat it.",
        show_default=False,
    ),
]
DesignRead = Annotated[
    Path | None,
    typer.Option(help="Design file of `bayeseval sample`, whose judgments QRELS holds."),
]
Population = Annotated[
    Literal["sample", "topics"],
    typer.Option(help="Intervals for these topics, or for the topics they stand for."),
]
ComparedPopulation = Annotated[
    Literal["sample", "topics"] | None,
    typer.Option(
        help="These topics (stat and dyn alone know the error), or the topics they stand for.",
        show_default="sample for stat and dyn, else topics",
    ),
]
Prior = Annotated[
    Literal["normal", "flat"],
    typer.Option(
        help="Of true differences: learned from all pairs, or none, which is too sure of them."
    ),
]
TidyFormat = Annotated[
    Literal["table", "markdown", "latex", "csv", "json"], typer.Option(help="How to write rows.")
]
Outside = Annotated[
    Literal["nonrelevant", "missing", "error"],
    typer.Option(help="Documents outside the design's frame."),
]
MissingTopics = Annotated[
    Literal["zero", "skip"], typer.Option(help="A topic that a run lacks: 0, or left out.")
]
RelevanceLevel = Annotated[
    int, typer.Option(help="Lowest relevant grade, where a measure has no rel=.")
]
PerTopic = Annotated[
    bool, typer.Option("--per-topic", help="Every topic, then the mean (topic `all`).")
]
ScoreFormat = Annotated[
    Literal["table", "markdown", "latex", "csv", "json", "trec_eval"],
    typer.Option(help="How to write scores."),
]
Sort = Annotated[
    str | None,
    typer.Option(metavar="MEASURE", help="Best run first.", show_default="as the files come"),
]
Against = Annotated[
    str | None,
    typer.Option(
        metavar="RUN",
        help="Mark runs that differ from RUN, or, with `all`, from each other (p < .05, Tukey).",
        show_default=False,
    ),
]
OutputFile = Annotated[
    Path | None, typer.Option(help="File to write; - is stdout, as without it.", show_default=False)
]
Budget = Annotated[
    int,
    typer.Option(help="Documents to judge per topic."),
]
DesignWritten = Annotated[
    Path, typer.Option(help="Where the design goes (- is stdout); `evaluate --design` reads it.")
]
Overwrite = Annotated[
    bool, typer.Option("--overwrite", help="Replace an existing design file by a new design.")
]
Scheme = Annotated[
    Literal["pps", "uniform", "poisson"],
    typer.Option(help="Likelier near the top (pps, poisson), or all alike (uniform)."),
]
NStrata = Annotated[
    int | None,
    typer.Option(
        help="Strata per topic (pps and uniform); fewer where the budget is.",
        show_default="20",
    ),
]
PoolDepth = Annotated[
    int | None, typer.Option(help="Ranks of each run that can be sampled.", show_default="all")
]
KnownQrels = Annotated[
    str | None, typer.Option(help="Known judgments, plain qrels: sample among them (a simulation).")
]
CertainQrels = Annotated[
    str | None,
    typer.Option(
        metavar="QRELS",
        help="Judgments that are there, of an old pool or an earlier sample: kept, and --budget is "
        "for further ones.",
        show_default=False,
    ),
]
Seed = Annotated[int | None, typer.Option(help="Random seed.", show_default="random")]
LARGEST_SEED = 2**63 - 1  # what a design file can hold


def chosen_seed(seed: int | None) -> int:
    """The seed asked for, or a random one; none that no design file can hold."""
    if seed is None:
        return secrets.randbits(32)
    if not 0 <= seed <= LARGEST_SEED:
        raise ValueError(f"--seed must be a whole number from 0 to {LARGEST_SEED}, not {seed}")
    return seed
