"""Arguments and options of the commands, groups of them, and the types that commands pass on."""

import inspect
import secrets
from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args

import typer

from bayeseval.whole_file import expanded_path

if TYPE_CHECKING:  # none of these packages is needed for `--help`
    import numpy
    import pandas
    import rich.table
    import xarray

type Array = numpy.ndarray
type DataFrame = pandas.DataFrame
type DataArray = xarray.DataArray
type DataTree = xarray.DataTree
type Dataset = xarray.Dataset
type Table = rich.table.Table


def folder(name: str) -> Path:
    """Folder of an option, which an empty variable of a shell does not name."""
    if not str(name):
        raise typer.BadParameter("'' names no folder; . is this one.")
    return expanded_path(name)


QRELS_HELP = (
    "File of judgments: TREC's lines, CSV with a header, JSON; or ir_datasets:ID, a data set of "
    "the package ir_datasets."
)
RUNS_HELP = "Run files or quoted globs: TREC's lines, CSV, JSON; also .gz, .xz, .bz2, .zst."
Runs = Annotated[list[str], typer.Argument(metavar="RUN", help=RUNS_HELP, show_default=False)]
SampledRuns = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="RUN",
        help=f"{RUNS_HELP} With --design, the runs that came later.",
        show_default=False,
    ),
]
QrelsFormat = Annotated[
    Literal["qrels", "sampleval", "prels", "probs"],
    typer.Option(help="Format of QRELS; sampleval, prels and probs include their design."),
]
Unjudgeable = Annotated[
    Literal["error", "nonrelevant"],
    typer.Option(
        help="Documents that nobody can judge, with the word `unjudgeable` for a grade: an error, "
        "or judged and not relevant (with --design)."
    ),
]
Depth = Annotated[int | None, typer.Option(help="Ranks to read from each run.", show_default="all")]
Exclude = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Documents that do not count for a topic (lines `topic document`, or CSV with this "
        "header): they leave rankings and judgments, and later documents move up.",
        show_default=False,
    ),
]
CiProb = Annotated[float, typer.Option(help="Nominal coverage of the intervals.")]
Qrels = Annotated[str, typer.Argument(metavar="QRELS", help=QRELS_HELP)]
Measures = Annotated[
    list[str],
    typer.Option("--measure", "-m", help='P@10, "RBP(p=0.8)", nDCG@10, AP, ...; repeatable.'),
]
Estimator = Annotated[
    Literal["combined", "dyn", "stat", "assumed", "condensed", "inf", "stat_ap", "importance"]
    | None,
    typer.Option(
        help="combined (dyn and a model), dyn or stat (a random sample, with --design), assumed "
        "(unjudged documents count as non-relevant), condensed (they are removed), inf "
        "(sampleval), stat_ap (prels), importance (drawn with replacement).",
        show_default="combined for a random sample, else assumed",
    ),
]
Labels = Annotated[
    list[str] | None,
    typer.Option(
        metavar="[NAME=]FILE",
        help="Relevance labels from an LLM or another assessor (lines `topic iter document label`, "
        "CSV with the header topic,document,label, or JSON). dyn, combined and fit estimate how "
        "reliable they are; sample favours documents labelled relevant. Repeatable.",
        show_default=False,
    ),
]
DesignRead = Annotated[
    Path | None,
    typer.Option(help="Design file, by `bayeseval sample`, of the sample judged in QRELS."),
]
Population = Annotated[
    Literal["sample", "topics"] | None,
    typer.Option(
        help="Intervals for these topics, or for the population they represent.",
        show_default="sample where a design gives the errors, else topics",
    ),
]
TopicGroups = Annotated[
    Path | None,
    typer.Option(
        help="CSV with the columns topic and group, of topics that were chosen together (turns of "
        "a conversation); intervals are for the population of such groups.",
        show_default=False,
    ),
]
Scores = Annotated[
    list[str] | None,
    typer.Option(
        metavar="FILE",
        help="In the place of QRELS and RUN: scores per topic by another tool, the output of "
        "trec_eval -q or ir_measures -q, CSV, TSV or JSON (run, topic, measure, score; or a column "
        "for each run); files or quoted globs, repeatable. -m chooses measures or names the one.",
        show_default=False,
    ),
]
_FORMAT_OF = {".csv": "csv", ".json": "json", ".md": "markdown", ".tex": "latex"}
OTHER_FORMATS = (  # of tables and texts, by the ending of a file's name; none of them is written
    *(".tsv", ".tab", ".xlsx", ".xlsm", ".xls", ".ods", ".parquet", ".feather", ".arrow"),
    *(".jsonl", ".ndjson", ".yaml", ".yml", ".xml", ".sqlite", ".db", ".pkl", ".nc", ".h5"),
    *(".html", ".htm", ".pdf", ".docx", ".doc", ".odt", ".rtf", ".rst", ".png", ".svg"),
)
_BY_ENDING = f"what --output ends in: {', '.join(_FORMAT_OF)}; else table"
TidyFormat = Annotated[
    Literal["table", "markdown", "latex", "csv", "json"] | None,
    typer.Option(help="Output format.", show_default=_BY_ENDING),
]
Anytime = Annotated[
    bool,
    typer.Option(
        "--anytime",
        help="Intervals that hold at every look while a list is judged (--scheme order), for "
        "anyone who looks more than once or stops when the answer is clear; by stat and dyn.",
    ),
]
RelevanceLevel = Annotated[
    int, typer.Option(help="Lowest relevant grade, unless a measure has rel=.")
]
PerTopic = Annotated[
    bool, typer.Option("--per-topic", help="Print every topic, then the mean (topic `all`).")
]
ScoreFormat = Annotated[
    Literal["table", "markdown", "latex", "csv", "json", "trec_eval"] | None,
    typer.Option(help="Output format.", show_default=_BY_ENDING),
]
Sort = Annotated[
    str | None,
    typer.Option(metavar="MEASURE", help="Best run first.", show_default="order of the files"),
]
OutputFile = Annotated[
    Path | None,
    typer.Option(
        help="Output file, compressed if it ends in .gz, .xz, .bz2 or .zst; - is stdout, the "
        "default.",
        show_default=False,
    ),
]
Seed = Annotated[int | None, typer.Option(help="Random seed.", show_default="random")]


@dataclass(kw_only=True)
class Source:
    """What is scored: judgments and runs, or scores of another tool."""

    qrels: Qrels
    runs: Runs
    measure: Measures
    scores: Scores = None


@dataclass(kw_only=True)
class Judged:
    """How judgments are read and joined to runs."""

    qrels_format: QrelsFormat = "qrels"
    unjudgeable: Unjudgeable = "error"
    design: DesignRead = None
    labels: Labels = None
    exclude: Exclude = None


@dataclass(kw_only=True)
class Estimated:
    """How scores are estimated; a measure may name its own level with ``rel=``."""

    relevance_level = 1
    estimator: Estimator = None
    ci_prob: CiProb = 0.9
    anytime: Anytime = False


@dataclass(kw_only=True)
class EstimatedAtLevel(Estimated):
    """How scores are estimated, of relevance from a grade on."""

    relevance_level: RelevanceLevel = 1


OF_COLLECTIONS = ("qrels", "runs", "measure", "budget")  # not needed with --scores
# options that go with --scores; others say how a collection is read, and scores are estimated
OF_SCORES = {
    *("scores", "measure", "ci_prob", "reference", "pair", "equivalence", "fail_if_worse"),
    *("top", "topic_groups", "n_topics", "half_width", "format", "output"),
}


def grouped(command: Callable[..., None]) -> Callable[..., None]:
    """A command that takes the options of its groups one by one, as typer reads signatures.

    A ~ at the beginning of a path that the shell did not expand is the home folder. Where a command
    takes --scores, what a collection needs is not required, and is None.
    """
    own = inspect.signature(command, eval_str=True)
    groups: dict[str, Any] = {
        name: parameter.annotation
        for name, parameter in own.parameters.items()
        if is_dataclass(parameter.annotation)
    }

    @wraps(command)
    def flat(**given) -> None:
        if "scores" in given:
            _check_source(command.__name__, listed, needed, given)
        for name, value in given.items():
            given[name] = expanded_path(value) if isinstance(value, Path) else value
        for name, group in groups.items():
            given[name] = group(**{field.name: given.pop(field.name) for field in fields(group)})
        command(**given)

    listed = []
    for name, parameter in own.parameters.items():
        group = inspect.signature(groups[name], eval_str=True) if name in groups else None
        listed += [parameter] if group is None else group.parameters.values()
    listed = [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in listed]
    needed = [one.name for one in listed if one.default is inspect.Parameter.empty]
    instead = any(one.name == "scores" for one in listed)
    needed = [name for name in needed if name in OF_COLLECTIONS and instead]
    listed = [_optional(one) if one.name in needed else one for one in listed]
    flat.__signature__ = own.replace(parameters=listed)  # pyright: ignore
    flat.__annotations__ = {parameter.name: parameter.annotation for parameter in listed}
    return flat


def _optional(parameter: inspect.Parameter) -> inspect.Parameter:
    """The same parameter, None where it is not given."""
    kind, about = get_args(parameter.annotation)
    return parameter.replace(annotation=Annotated[kind | None, about], default=None)


def _check_source(
    command: str, parameters: list[inspect.Parameter], needed: list[str], given: dict
) -> None:
    """Refuse what does not go with --scores, or the lack of what is needed without them."""
    for one in parameters:
        value, about = given[one.name], get_args(one.annotation)[1]
        argument = one.name in ("qrels", "runs")
        named = about.metavar if argument else f"--{one.name.replace('_', '-')}"
        if given["scores"]:
            if one.name not in OF_SCORES and value != one.default:
                raise ValueError(f"{named} does not go with --scores, which need no collection")
        elif one.name in needed and value is None:
            kind, instead = ("argument", "or --scores; ") if argument else ("option", "")
            raise ValueError(
                f"Missing {kind} '{named}': {about.help.rstrip('.')}; {instead}see bayeseval "
                f"{command} --help"
            )


def output_format(format: str | None, output: Path | None) -> str:
    """The format asked for, else the one that the name of the output file ends in, else a table.

    A name that promises a format that is not written is a ValueError, whatever is asked for.
    """
    ending = output_ending(output)
    tabs = ending == ".tsv" and format == "trec_eval"  # whose columns are separated by tabs
    if ending in OTHER_FORMATS and not tabs:
        raise ValueError(
            f"--output {output}: no {ending} is written; a name that ends in .csv gives a table "
            f"for Excel and other programs, {', '.join(list(_FORMAT_OF)[1:])} these formats, .txt "
            "or no ending the table for people"
        )
    return format or _FORMAT_OF.get(ending, "table")


def check_page(output: Path) -> None:
    """Refuse a page of HTML under a name that promises another format."""
    ending = output_ending(output)
    if ending in {*OTHER_FORMATS, *_FORMAT_OF, ".txt"} - {".html", ".htm"}:
        raise ValueError(
            f"--output {output}: a report is a page of HTML, not {ending}; let its name end in "
            ".html (a browser opens it, and prints it to PDF)"
        )


def output_ending(output: Path | None) -> str:
    """Ending of an output file without that of its compression, in small letters."""
    from bayeseval.trec.sources import bare_name

    return "" if output is None else Path(bare_name(output)).suffix.lower()


def checked_seed(seed: int | None) -> int:
    """The seed asked for, or a random one; one that no design file can hold is a ValueError."""
    if seed is None:
        return secrets.randbits(32)
    if not 0 <= seed < 2**63:
        raise ValueError(f"--seed must be a whole number from 0 to {2**63 - 1}, not {seed}")
    return seed
