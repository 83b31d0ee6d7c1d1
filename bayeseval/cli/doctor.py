"""`bayeseval doctor`: is the installation whole, and what is wrong with files."""

import sys
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Annotated, Any

import typer

import bayeseval as be
from bayeseval.cli.groups import Judged, Rankings, grouped
from bayeseval.cli.output import printable, told, write_result
from bayeseval.cli.reading import judged_collection, label_files
from bayeseval.cli.remarks import counted
from bayeseval.cli.suspicions import of_judgments, of_runs, suspicions
from bayeseval.cli.tables import rendered

if TYPE_CHECKING:
    import xarray as xr

PACKAGES = ("numpy", "pandas", "xarray", "scipy", "numba", "pymc", "arviz", "nutpie", "matplotlib")
FAULTS = (ValueError, TypeError, KeyError, OSError)


@dataclass
class Findings:
    """What was found, a line each, and whether any of it is an error."""

    lines: list[str] = field(default_factory=list)
    n_errors: int = 0
    n_warnings: int = 0

    def good(self, text: str) -> None:
        """Note what is as it should be."""
        self.lines.append(f"ok       {printable(text)}")

    def doubt(self, text: str) -> None:
        """Note what may be wrong, once."""
        line = f"warning  {printable(text)}"
        if line not in self.lines:
            self.n_warnings += 1
            self.lines.append(line)

    @contextmanager
    def kept(self) -> Iterator[None]:
        """Keep warnings and a mistake of the body, each once."""
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always", UserWarning)
            try:
                yield
            except FAULTS as error:
                self.n_errors += 1
                self.lines.append(f"error    {printable(told(error))}")
        for one in said:
            self.doubt(told(one.message) if isinstance(one.message, Warning) else one.message)

    @property
    def summary(self) -> str:
        """The last line."""
        return f"{counted(self.n_errors, 'error')}, {counted(self.n_warnings, 'warning')}"


@grouped
def doctor(
    judged: Judged,
    rankings: Rankings,
    qrels: Annotated[
        str | None, typer.Argument(metavar="[QRELS]", help="File of judgments.", show_default=False)
    ] = None,
    runs: Annotated[
        list[str] | None,
        typer.Argument(metavar="[RUN]...", help="Run files or quoted globs.", show_default=False),
    ] = None,
) -> None:
    """Check the installation; with QRELS and RUNs also the files, all of them.

    Every file is read by itself, so that the first mistake of each is found at once, then all
    together: topics that are lacking, runs whose best documents nobody judged, runs that are one
    and the same.
    """
    if qrels is None and (judged.design is not None or judged.labels):
        raise ValueError("--design and --labels are checked with QRELS RUN...; name these too")
    found = Findings()
    _check_installation(found)
    table = ""
    if qrels is not None:
        table = _check_files(found, qrels, runs or [], judged, rankings)
    write_result("\n".join([*found.lines, found.summary]) + "\n" + table, None)
    if found.n_errors:
        raise typer.Exit(2)


def _check_installation(found: Findings) -> None:
    """Versions, an estimate and a fit."""
    from importlib.metadata import PackageNotFoundError, version

    from bayeseval.processors import usable_processors

    python = ".".join(map(str, sys.version_info[:3]))
    found.good(f"Python {python}, {counted(usable_processors(), 'processor')} to use")
    known = []
    for name in ("bayeseval", *PACKAGES):
        try:
            known.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            found.doubt(f"{name} is not installed (a source folder that is on the path?)")
    found.good(", ".join(known))
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


def _modelled(sampled: "xr.DataTree") -> "xr.DataArray":
    """Scores by a model that is fitted in no time."""
    model = be.models.relevance_model(sampled)
    fitted = be.fit(model, approximation="laplace", draws=10, random_seed=1)
    return be.posterior_scores(fitted, sampled, "P@10", random_seed=1)["estimate"]


def _check_step(found: Findings, what: str, step: Callable[[], Any]) -> None:
    """Do a part of the work on a small collection, and say how long it took."""
    began = time.monotonic()
    before = found.n_errors
    with found.kept():
        if not step().notnull().all():
            raise ValueError(f"{what} on a small collection are not finite")
    if found.n_errors == before:
        found.good(f"{what}, on a small collection: {time.monotonic() - began:.1f} s")


def _check_files(
    found: Findings, qrels: str, runs: list[str], judged: Judged, rankings: Rankings
) -> str:
    """Every file by itself, then what they are together, with a table of the runs."""
    from bayeseval.trec.sources import expanded

    before = found.n_errors
    with found.kept():
        known = be.read_collection(qrels, qrels_format=judged.qrels_format)
        found.good(f"{qrels}: {of_judgments(known)}")
    if judged.design is not None:
        with found.kept():
            scheme = be.read_design(judged.design).attrs["scheme"]
            found.good(f"{judged.design}: a design, {scheme}")
    with found.kept():
        label_files(judged.labels)
    n_read = 0
    for named in runs:
        with found.kept():
            for path in expanded([named], "run"):
                with found.kept():
                    be.read_collection(None, str(path), **asdict(rankings))
                    n_read += 1
    if n_read:
        found.good(f"{counted(n_read, 'run')} can be read")
    if found.n_errors > before or not n_read:
        if judged.design is not None or judged.labels:
            found.doubt("how design, judgments, labels and runs fit together was not checked")
        return ""
    with found.kept():
        collection = judged_collection(qrels, runs, judged, rankings)
        for text in suspicions(collection):
            found.doubt(text)
        return "\n" + rendered(of_runs(collection))
    return ""
