"""`bayeseval doctor`: is the installation whole, and what is wrong with files."""

import sys
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any

import typer

import bayeseval as be
from bayeseval.cli import options as option
from bayeseval.cli.data import Array, DataArray, DataTree
from bayeseval.cli.groups import Judged, Rankings, grouped
from bayeseval.cli.output import check_outputs, printable, told, write_result
from bayeseval.cli.reading import input_files, judged_collection, label_files, ordered_files
from bayeseval.cli.suspicions import check_shared, of_judgments, of_labels, of_runs, suspicions
from bayeseval.cli.tables import rendered
from bayeseval.messages import counted

PACKAGES = ("numpy", "pandas", "xarray", "scipy", "numba", "pymc", "arviz", "nutpie", "matplotlib")
FAULTS = (ValueError, TypeError, KeyError, OSError)


@dataclass
class Findings:
    """What was found, a line each."""

    lines: list[str] = field(default_factory=list)

    def note(self, kind: str, text: str) -> None:
        """Note once what is as it should be ("ok"), a "warning" or an "error"."""
        line = f"{kind:<8} {printable(text)}"
        if line not in self.lines:
            self.lines.append(line)

    def number(self, kind: str) -> int:
        """How many there are of a kind."""
        return sum(line.startswith(kind) for line in self.lines)

    @contextmanager
    def kept(self) -> Iterator[None]:
        """Keep warnings and a mistake of the body, each once."""
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always", UserWarning)
            try:
                yield
            except FAULTS as error:
                self.note("error", told(error))
        for one in said:
            text = told(one.message) if isinstance(one.message, Warning) else one.message
            self.note("warning", text)


@grouped
def doctor(
    judged: Judged,
    rankings: Rankings,
    qrels: Annotated[
        str | None, typer.Argument(metavar="[QRELS]", help=option.QRELS_HELP, show_default=False)
    ] = None,
    runs: Annotated[
        list[str] | None,
        typer.Argument(metavar="[RUN]...", help=option.RUNS_HELP, show_default=False),
    ] = None,
) -> None:
    """Check the installation; with QRELS and RUNs also the files, all of them.

    Every file is read by itself, so that the first mistake of each is found at once, then those
    that can be read together: topics that are lacking, runs whose best documents nobody judged,
    runs that are one and the same, labels that are of other documents or copies of the judgments.
    """
    if qrels is None and (judged.design is not None or judged.labels):
        raise ValueError("--design and --labels are checked with QRELS RUN...; name these too")
    if qrels is not None:
        _check_paths([qrels, *(runs or [])], judged)
    found = Findings()
    _check_installation(found)
    table = ""
    if qrels is not None:
        table = _check_files(found, qrels, runs or [], judged, rankings)
    summary = ", ".join(counted(found.number(kind), kind) for kind in ("error", "warning"))
    write_result("\n".join([*found.lines, summary]) + "\n" + table, None)
    if found.number("error"):
        raise typer.Exit(2)


def _check_paths(named: list[str], judged: Judged) -> None:
    """Refuse pipes, which cannot be read again, and a file that stdout goes into."""
    paths = [] if judged.design is None else [judged.design]
    for text in named:
        with suppress(ValueError):  # what is not there is told with what else is wrong
            paths += input_files([], [text], [])
    for text in judged.labels or []:
        with suppress(ValueError):
            paths += label_files([text]).values()
    for path in paths:
        if path.is_fifo():
            raise ValueError(
                f"{path} is a pipe, and doctor reads files twice, each by itself and then all "
                "together; write it to a file"
            )
    check_outputs({"stdout": None}, paths)


def _check_installation(found: Findings) -> None:
    """Versions, an estimate and a fit."""
    from importlib.metadata import PackageNotFoundError, version

    from bayeseval.processors import usable_processors

    python = ".".join(map(str, sys.version_info[:3]))
    found.note("ok", f"Python {python}, {counted(usable_processors(), 'processor')} to use")
    known = []
    for name in ("bayeseval", *PACKAGES):
        try:
            known.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            found.note("warning", f"{name} is not installed (a source folder that is on the path?)")
    found.note("ok", ", ".join(known))
    collection = be.simulate.urn_collection(
        [0.05, 0.1, 0.2], n_topics=10, prevalence=0.1, random_seed=1
    )
    design = be.designs.pps_strata(collection, budget=60)
    sampled = be.reveal(collection, design, be.draw(design, random_seed=1))
    _check_step(
        found,
        "estimates by dyn",
        lambda: be.evaluate(sampled, ["P@10", "AP"], estimator="dyn")["estimate"],
    )
    _check_step(found, "a relevance model and its scores", lambda: _modelled(sampled))


def _modelled(sampled: DataTree) -> DataArray:
    """Scores by a model that is fitted in no time."""
    model = be.models.relevance_model(sampled)
    fitted = be.fit(model, approximation="laplace", draws=10, random_seed=1)
    return be.posterior_scores(fitted, sampled, "P@10", random_seed=1)["estimate"]


def _check_step(found: Findings, what: str, step: Callable[[], Any]) -> None:
    """Do a part of the work on a small collection, and say how long it took."""
    began = time.monotonic()
    before = found.number("error")
    with found.kept():
        if not step().notnull().all():
            raise ValueError(f"{what} on a small collection are not finite")
    if found.number("error") == before:
        found.note("ok", f"{what}, on a small collection: {time.monotonic() - began:.1f} s")


def _check_files(
    found: Findings, qrels: str, runs: list[str], judged: Judged, rankings: Rankings
) -> str:
    """Every file by itself, then those that can be read together, with a table of the runs."""
    topics = design = None
    with found.kept(), ordered_files():
        known = be.read_collection(
            qrels, qrels_format=judged.qrels_format, negative_grades=judged.negative_grades
        )
        found.note("ok", f"{qrels}: {of_judgments(known, qrels)}")
        topics = known["topic"].to_numpy()
    if judged.design is not None:
        with found.kept():
            design = be.read_design(judged.design)
            found.note("ok", f"{judged.design}: a design, {design.attrs['scheme']}")
    labels = _read_labels(found, judged.labels or [])
    before = found.number("error")
    readable = _readable_runs(found, runs, rankings, topics)
    whole = found.number("error") == before
    # a design is of all runs that made it
    designed = judged.design is None or (design is not None and whole)
    if topics is None or not readable or not designed:
        if judged.design is not None or judged.labels:
            found.note(
                "warning", "how design, judgments, labels and runs fit together was not checked"
            )
        return ""
    if not whole:
        found.note("ok", "what follows is of the runs that can be read")
    table = ""
    with found.kept():
        collection = judged_collection(qrels, readable, replace(judged, labels=None), rankings)
        for text in suspicions(collection):
            found.note("warning", text)
        table = "\n" + rendered(of_runs(collection))
        for name, path in labels.items():
            with found.kept():
                found.note("ok", f"{path}: {of_labels(collection, name, path)}")
    return table


def _read_labels(found: Findings, named: list[str]) -> dict[str, Path]:
    """Files of labels that can be read, by the name of their judge."""
    from bayeseval.trec.adding import file_labels

    readable = {}
    for text in named:
        with found.kept():
            for name, path in label_files([text]).items():
                file_labels(path, name)
                readable[name] = path
    with found.kept():
        label_files(named)  # two judges of one name
    return readable


def _readable_runs(
    found: Findings, named: list[str], rankings: Rankings, topics: Array | None
) -> list[str]:
    """Run files that can be read, and share a topic with the judgments where these are known."""
    from bayeseval.trec.sources import expanded

    readable, number = [], 0
    for one in named:
        with found.kept():
            for path in expanded([one], "run"):
                with found.kept(), ordered_files():
                    run = be.read_collection(None, str(path), **asdict(rankings))
                    check_shared(str(path), run["topic"].to_numpy(), topics)
                    readable.append(str(path))
                    number += run.sizes["run"]
    if readable:
        found.note("ok", f"{counted(number, 'run')} can be read")
    return readable
