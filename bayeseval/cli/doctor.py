"""`bayeseval doctor`: whether the installation works, and what is wrong with files."""

import sys
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated

import typer

import bayeseval as be
from bayeseval.cli import options as option
from bayeseval.cli.notes import judged_topics
from bayeseval.cli.options import Array, Dataset, DataTree, Judged, Table, grouped
from bayeseval.cli.output import check_outputs, one_line, printable, write_result
from bayeseval.cli.reading import input_files, judged_collection, label_files, ordered_files
from bayeseval.cli.tables import add_cells, new_table, rendered
from bayeseval.messages import counted, some_of

PACKAGES = ("numpy", "pandas", "xarray", "scipy", "numba", "pymc", "arviz", "nutpie", "matplotlib")
CUTOFF = 10  # of the share of a run's first ranks that are judged
SHOWN = 3  # runs that a sentence names


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
    def caught(self) -> Iterator[None]:
        """Note the warnings and a mistake of the body, each once."""
        with warnings.catch_warnings(record=True) as given:
            warnings.simplefilter("always", UserWarning)
            try:
                yield
            except (ValueError, TypeError, KeyError, OSError) as error:
                self.note("error", one_line(error))
        for warning in given:
            self.note("warning", one_line(warning.message))


@grouped
def doctor(
    judged: Judged,
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
    that can be read together: topics that are missing, runs whose best documents nobody judged,
    runs that are one and the same, labels that are of other documents or copies of the judgments.
    """
    if qrels is None and (judged.design or judged.labels or judged.exclude):
        raise ValueError(
            "--design, --labels and --exclude are checked with QRELS RUN...; name these too"
        )
    paths = [path for path in (judged.design, judged.exclude) if path is not None]
    for text in [] if qrels is None else [qrels, *(runs or [])]:
        with suppress(ValueError):  # what is not there is found again with all other mistakes
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
    findings = Findings()
    _check_installation(findings)
    table = "" if qrels is None else _check_files(findings, qrels, runs or [], judged)
    summary = ", ".join(counted(findings.number(kind), kind) for kind in ("error", "warning"))
    write_result("\n".join([*findings.lines, summary]) + "\n" + table, None)
    if findings.number("error"):
        raise typer.Exit(2)


def _check_installation(findings: Findings) -> None:
    """Versions, an estimate and a fit."""
    from importlib.metadata import PackageNotFoundError, version

    from bayeseval.processors import usable_processors

    python = ".".join(map(str, sys.version_info[:3]))
    findings.note("ok", f"Python {python}, {counted(usable_processors(), 'processor')} to use")
    known = []
    for name in ("bayeseval", *PACKAGES):
        try:
            known.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            findings.note(
                "warning", f"{name} is not installed (a source folder that is on the path?)"
            )
    findings.note("ok", ", ".join(known))
    collection = be.simulate.urn_collection(
        [0.05, 0.1, 0.2], n_topics=10, prevalence=0.1, random_seed=1
    )
    design = be.designs.pps_strata(collection, budget=60)
    sampled = be.reveal(collection, design, be.draw(design, random_seed=1))
    steps = {
        "estimates by dyn": lambda: be.evaluate(sampled, ["P@10", "AP"], estimator="dyn"),
        "a relevance model and its scores": lambda: _modelled(sampled),
    }
    for name, step in steps.items():
        began, before = time.monotonic(), findings.number("error")
        with findings.caught():
            if not step()["estimate"].notnull().all():
                raise ValueError(f"{name} on a small collection are not finite")
        if findings.number("error") == before:
            seconds = time.monotonic() - began
            findings.note("ok", f"{name}, on a small collection: {seconds:.1f} s")


def _modelled(sampled: DataTree) -> Dataset:
    """Scores by a model that is fitted in no time."""
    model = be.models.relevance_model(sampled)
    fitted = be.fit(model, approximation="laplace", draws=10, random_seed=1)
    return be.posterior_scores(fitted, sampled, "P@10", random_seed=1)


def _check_files(findings: Findings, qrels: str, runs: list[str], judged: Judged) -> str:
    """Every file by itself, then those that can be read together, with a table of the runs."""
    from bayeseval.trec.qrels import GradesMissing

    topics = design = None
    with findings.caught(), ordered_files():
        if judged.design is not None:  # the design says what a missing grade means
            warnings.simplefilter("ignore", GradesMissing)
        unjudgeable = judged.unjudgeable
        source = (
            qrels if unjudgeable == "error" else be.trec.read_qrels(qrels, unjudgeable=unjudgeable)
        )
        known = be.read_collection(source, qrels_format=judged.qrels_format)
        findings.note("ok", f"{qrels}: {_judgments_line(known, qrels)}")
        topics = known["topic"].to_numpy()
    if judged.design is not None:
        with findings.caught():
            design = be.read_design(judged.design)
            findings.note("ok", f"{judged.design}: a design, {design.attrs['scheme']}")
    labels = _read_labels(findings, judged.labels or [])
    before = findings.number("error")
    readable = _readable_runs(findings, runs, topics)
    whole = findings.number("error") == before
    # a design is of all runs that made it
    designed = judged.design is None or (design is not None and whole)
    if topics is None or not readable or not designed:
        if judged.design is not None or judged.labels:
            findings.note(
                "warning", "how design, judgments, labels and runs fit together was not checked"
            )
        return ""
    if not whole:
        findings.note("ok", "what follows is of the runs that can be read")
    table = ""
    with findings.caught():
        collection = judged_collection(qrels, readable, replace(judged, labels=None))
        for text in _suspicions(collection):
            findings.note("warning", text)
        table = "\n" + rendered(_runs_table(collection))
        for name, path in labels.items():
            with findings.caught():
                findings.note("ok", f"{path}: {_labels_line(collection, name, path)}")
    return table


def _read_labels(findings: Findings, named: list[str]) -> dict[str, Path]:
    """Files of labels that can be read, by the name of their judge."""
    from bayeseval.trec.adding import file_labels

    readable = {}
    for text in named:
        with findings.caught():
            for name, path in label_files([text]).items():
                file_labels(path, name)
                readable[name] = path
    with findings.caught():
        label_files(named)  # two judges of one name
    return readable


def _readable_runs(findings: Findings, named: list[str], topics: Array | None) -> list[str]:
    """Run files that can be read, and share a topic with the judgments where these are known."""
    from bayeseval.trec.sources import expanded

    readable, number = [], 0
    for one in named:
        with findings.caught():
            for path in expanded([one], "run"):
                name = str(path) if isinstance(path, Path) else one
                with findings.caught(), ordered_files():
                    run = be.read_collection(None, name)
                    _check_shared(name, run["topic"].to_numpy(), topics)
                    readable.append(name)
                    number += run.sizes["run"]
    if readable:
        findings.note("ok", f"{counted(number, 'run')} can be read")
    return readable


def _judgments_line(known: DataTree, path: str) -> str:
    """How many judgments there are, in a line; a warning where none or every one is relevant."""
    grade = known["judgments/grade"].to_numpy()
    grade = grade[grade == grade]
    if not grade.size:
        raise ValueError(f"{path}: nothing is judged; every grade is below 0, which is unjudged")
    if not (grade > 0).any():
        warnings.warn(f"{path}: no grade is above 0, so no document is relevant", stacklevel=2)
    if (grade > 0).all():
        warnings.warn(
            f"{path}: every grade is above 0, so that every judged document is relevant (but for "
            "--relevance-level); were other documents left out? They count as unjudged then, and a "
            "sample cannot be estimated from: list them with grade 0",
            stacklevel=2,
        )
    return (
        f"{counted(grade.size, 'judgment')} of {counted(known.sizes['topic'], 'topic')}, grades "
        f"{grade.min():g} to {grade.max():g}, {(grade > 0).mean():.1%} above 0"
    )


def _check_shared(path: str, topics: Array, judged: Array | None) -> None:
    """Refuse a run that has no topic of the judgments."""
    import numpy as np

    from bayeseval.collection.labels import floating_topics

    if judged is None or np.isin(topics, judged).any():
        return
    raise ValueError(
        f"{path} has no topic in common with the judgments; it has '{topics[0]}' and so on, they "
        f"have '{judged[0]}' and so on{floating_topics(topics[0], judged[0])}"
    )


def _labels_line(collection: DataTree, name: str, path: Path) -> str:
    """How many pairs have a label, and how good labels are, in a line.

    Labels that follow the sample are refused; of labels that look like judgments there is a
    warning.
    """
    from bayeseval.collection.schema import warn_of_copies
    from bayeseval.frame.frame import BY_CHANCE
    from bayeseval.predictors.registry import check_labels

    labelled = be.add_predictions(collection, name, path)
    values = labelled[f"predictors/{name}"].to_numpy()
    warn_of_copies(name, values, collection["judgments/grade"].to_numpy())
    drawn = False
    if "design" in collection.children:
        probability = collection["design/inclusion_probability"]
        drawn = bool((probability < 1.0).any())
        if collection["design"].attrs["scheme"] in BY_CHANCE and probability.notnull().all():
            check_labels(labelled)
    line = f"labels '{name}', {(values == values).sum()} of {values.size} pairs have one"
    both = values + collection["judgments/grade"].to_numpy()
    if not (both == both).any():
        return line
    agreement, texts = be.label_agreement(labelled, name), {}
    for quantity, value in agreement["estimate"].to_series().items():
        low, high = agreement["interval"].sel(quantity=quantity).to_numpy()
        bounds = "" if low != low else f" ({low:.2f} to {high:.2f})"
        texts[quantity] = f"{quantity} " + (f"{value:.2f}{bounds}" if value == value else "unknown")
    shares = ", ".join(texts[name] for name in ("sensitivity", "specificity", "precision"))
    return (
        f"{line}; {'weighted by the design ' if drawn else ''}they agree with "
        f"{float(agreement['estimate'].sel(quantity='agreement')):.1%} of the judgments, "
        f"{texts['kappa']}; {shares} (90% intervals; relevant: grade 1 or more)"
    )


def _runs_table(collection: DataTree) -> Table:
    """A line for each run: missing topics, its length, judged among the first ranks."""
    import numpy as np

    from bayeseval.frame.rankings import Rankings

    length, counting = Rankings.of(collection).length, judged_topics(collection)
    columns = ["topics missing", "ranks, median", "fewest", f"judged@{CUTOFF}"]
    table = new_table("runs", ("run",), columns)
    for run, share, ranks in zip(*_judged_shares(collection), length, strict=True):
        there = ranks[ranks > 0]
        middle = f"{np.median(there):.0f}" if there.size else "-"
        fewest = f"{there.min()}" if there.size else "-"
        missing = str((ranks[counting] == 0).sum())
        add_cells(table, run, missing, middle, fewest, f"{share:.2f}")
    return table


def _suspicions(collection: DataTree) -> Iterator[str]:
    """Sentences on missing topics, what is judged of the tops, and runs that are the same."""
    from bayeseval.frame.frame import Frame
    from bayeseval.frame.independence import following
    from bayeseval.frame.rankings import Rankings

    rankings = Rankings.of(collection)
    missing = (rankings.length == 0)[:, judged_topics(collection)].sum(axis=1)
    names, share = _judged_shares(collection)
    if missing.any():
        which = _listed(names, missing > 0)
        yield f"topics with judgments are missing in {which}: a run scores 0 on a missing topic"
    design = collection.children.get("design")
    if design is None or design.attrs["scheme"] == "deterministic":
        # few of a run's documents are judged, or fewer than of the best-judged run
        few = (share < 0.8) | (share < share.max() - 0.2)
        if few.any():
            order = share.argsort(kind="stable")  # the worst are named
            listed = _listed([names[run] for run in order], few[order])
            yield (
                f"many of the first {CUTOFF} documents are not judged in {listed}, "
                f"judged@{CUTOFF} from {share[few].min():.2f} beside {share.max():.2f}; "
                "such runs score too low by --estimator assumed; judge more, or draw a sample "
                "(bayeseval sample, --certain keeps these judgments) for --estimator dyn or stat; "
                "if this is a sample already, name its --design; bayeseval adjust is for runs that "
                "did not make the pool"
            )
    if text := following(Frame.of(collection)):
        yield text
    seen: dict[bytes, str] = {}
    for name, places in zip(names, rankings.pair, strict=True):
        twin = seen.setdefault(places.tobytes(), name)
        if twin != name:
            yield f"the runs {twin} and {name} are one and the same ranking"


def _judged_shares(collection: DataTree) -> tuple[list[str], Array]:
    """Runs, and the judged share of the first documents of each, over the topics that it has."""
    label = f"Judged@{CUTOFF}"
    scores = be.evaluate(collection, label, estimator="assumed", missing_topics="skip")
    share = be.mean_over_topics(scores)["estimate"].isel(measure=0).fillna(0.0)
    return share["run"].to_numpy().tolist(), share.to_numpy()


def _listed(names: list[str], which: Array) -> str:
    """How many runs, and the names of the first."""
    listed = [name for name, is_listed in zip(names, which, strict=True) if is_listed]
    return f"{counted(len(listed), 'run')} ({some_of(listed, SHOWN)})"
