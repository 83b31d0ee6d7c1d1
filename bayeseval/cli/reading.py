"""What the commands read, and how scores are estimated from it: files and options, checked."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

import bayeseval as be
from bayeseval.cli.notes import note_fitted_runs, note_progress, note_unlike
from bayeseval.cli.options import DataFrame, Dataset, DataTree, Estimated, Judged, Rankings
from bayeseval.cli.output import check_outputs, note, working
from bayeseval.whole_file import expanded_path

COMBINED = "combined"  # an estimator of the commands: dyn and a model
ORDER = "the order is QRELS RUN...: judgments first"


def input_files(
    judgments: list[str | None], runs: list[str], others: list[Path | None]
) -> list[Path]:
    """Files that a command reads: those of judgments and runs, some behind globs."""
    from bayeseval.trec.sources import IR_DATASETS, expanded

    named = [path for path in judgments if path is not None and not path.startswith(IR_DATASETS)]
    found = expanded(named, "judgments") if named else []
    found = [*found, *(expanded(runs, "run") if runs else [])]
    paths = [path for path in found if isinstance(path, Path)]
    return paths + [path for path in others if path is not None]


def check_measures(
    measures: list[str], relevance_level: int, estimator: str | None = None
) -> list[str]:
    """Canonical labels of measures; unknown ones are refused before files are read.

    So is an unknown estimator, or one that has no estimate of a measure.
    """
    from bayeseval.estimators import check_estimable, check_known
    from bayeseval.measures.names import parse_measures

    parsed = parse_measures(measures, relevance_level=relevance_level)
    if estimator == COMBINED:
        from bayeseval.posterior.modelled import check_modelled  # takes time to import

        check_modelled(parsed)
    elif estimator is not None:
        check_known(estimator, (COMBINED,))
        check_estimable(parsed, estimator)
    return [measure.label for measure in parsed]


def check_level(
    collection: DataTree, relevance_level: int, measures: list[str], *, fitting: bool = False
) -> None:
    """Refuse a level that makes no document relevant, as a mistyped one does.

    It is the option's, or that of a measure (``rel=``). A sample may have missed the highest
    grades: then the estimate is 0, with a warning. A model has nothing to be fitted to.
    """
    from bayeseval.measures.names import parse_measures

    grades = collection["judgments/grade"]
    if grades.isnull().all() or ("design" in collection.children and not fitting):
        return
    highest = int(grades.max(skipna=True).item())
    asked = {f"the grade --relevance-level {relevance_level}": relevance_level}
    for measure in parse_measures(measures, relevance_level=relevance_level):
        own = measure.relevance_level
        if not measure.graded and own != relevance_level:
            asked[f"the grade {own} of {measure.label}"] = own
    for what, level in asked.items():
        if level > max(highest, 1):
            raise ValueError(f"no judged document has {what} or more; the highest is {highest}")


@contextmanager
def ordered_files() -> Iterator[None]:
    """Add the order of the files to an error that a wrong order gives."""
    from bayeseval.trec.lines import WrongFields

    try:
        yield
    except WrongFields as error:
        raise ValueError(f"{str(error).rstrip('.')} ({ORDER})") from error


def label_files(labels: list[str] | None) -> dict[str, Path]:
    """Files of labels by the name of their judge: NAME=FILE, or the file's name."""
    from bayeseval.trec.records import ENDINGS
    from bayeseval.trec.sources import bare_name

    files: dict[str, Path] = {}
    for text in labels or []:
        name, sign, path = text.partition("=")
        if not sign or expanded_path(text).exists():
            path = text
            name = bare_name(Path(text))
            stem, dot, ending = name.rpartition(".")
            if dot and f".{ending}" in (*ENDINGS, ".txt", ".qrels", ".labels"):
                name = stem
        if name in files:
            raise ValueError(f"--labels names two judges '{name}'; write NAME=FILE for each")
        if not name:
            raise ValueError(f"--labels {text} names no judge; write NAME=FILE")
        file = expanded_path(path)
        if not file.is_file():
            raise ValueError(f"--labels {text}: there is no file '{path}' of labels")
        files[name] = file
    return files


def labelled(collection: DataTree, labels: list[str] | None) -> DataTree:
    """Collection with the labels of files; a note says how many pairs have one."""
    for name, path in label_files(labels).items():
        collection = be.add_predictions(collection, name, path)
        known = collection[f"predictors/{name}"].notnull().sum().item()
        note(f"labels '{name}': {known} of {collection['document'].size} pairs have one")
    return collection


def judged_files(qrels: str, runs: list[str], judged: Judged) -> list[Path]:
    """Files that a command reads for a collection with judgments."""
    return input_files([qrels], runs, [judged.design, *label_files(judged.labels).values()])


def read_judged(
    qrels: str, runs: list[str], judged: Judged, rankings: Rankings, output: Path | None,
    groups: Path | None = None,
) -> DataTree:  # fmt: skip
    """Runs with their judgments and labels.

    An output that would replace one of these files, or the file of topic groups, is refused.
    """
    others = [path for path in (groups, rankings.exclude) if path is not None]
    check_outputs({"--output": output}, [*judged_files(qrels, runs, judged), *others])
    return judged_collection(qrels, runs, judged, rankings)


def judged_collection(qrels: str, runs: list[str], judged: Judged, rankings: Rankings) -> DataTree:
    """Runs with their judgments, those of a design joined to it, and with labels."""
    options: dict[str, Any] = asdict(rankings)
    grades: Any = {"negative_grades": judged.negative_grades}
    if judged.design is not None and judged.qrels_format != "qrels":
        raise ValueError("--design goes with plain qrels; the other formats bring their own design")
    if judged.design is None and judged.unjudgeable != "error":
        raise ValueError("--unjudgeable goes with --design, whose list holds such documents")
    with ordered_files():
        if judged.design is None:
            options |= {"qrels_format": judged.qrels_format} | grades
            collection = be.read_collection(qrels, runs, **options)
        else:
            collection = be.read_collection(None, runs, **options)
            design = be.read_design(judged.design)
            grades |= {"unjudgeable": judged.unjudgeable}
            collection = be.attach_judgments(collection, design, qrels, **grades)
            note_progress(collection, design)
    return labelled(collection, judged.labels)


def given_scores(
    scores: list[str], measures: list[str] | None, output: Path | None, groups: Path | None = None
) -> Dataset:
    """Scores per topic of files of other tools; the output must not replace one of them."""
    from bayeseval.trec.sources import expanded

    files = [path for path in expanded(scores, "scores") if isinstance(path, Path)]
    check_outputs({"--output": output}, files + ([groups] if groups else []))
    with working("reading scores"):
        return be.read_scores([str(path) for path in files], measure=measures or None)


def groups_of_topics(path: Path | None) -> dict[str, str] | None:
    """Group of every topic that a file names; None without a file."""
    if path is None:
        return None
    table = read_columns(path, "topic", "group")
    twice = table.loc[table["topic"].duplicated(), "topic"]
    if len(twice):
        raise ValueError(f"{path} names the topic '{twice.iloc[0]}' twice")
    return dict(zip(table["topic"], table["group"], strict=True))


def read_columns(path: Path, first: str, second: str) -> DataFrame:
    """A table in a file as text, refused where one of two columns is missing."""
    from bayeseval.trec.records import named_frame

    return named_frame(path, (first, second))


def estimate_options(estimated: Estimated, judged: Judged) -> dict[str, Any]:
    """Options of ``be.evaluate``, less ``ci_prob``; of dyn where a model is combined with it.

    Options that the combination of dyn and a model does not have are refused, as are those that
    only this combination, or only stat and dyn, have.
    """
    from bayeseval.estimators import HAS_COVARIANCE

    combined, estimator = estimated.estimator == COMBINED, dyn_if_combined(estimated.estimator)
    names = ("outside", "missing_topics", "denominator")
    options = {name: getattr(estimated, name) for name in names}
    if combined:
        allowed = {"outside": "nonrelevant", "missing_topics": "zero", "denominator": "counts"}
        for name, value in options.items():
            if value not in (None, allowed[name]):
                flag = f"--{name.replace('_', '-')}"
                raise ValueError(
                    f"{flag} {value} does not go with --estimator combined; dyn has it"
                )
    elif estimated.learn_from != "design":
        raise ValueError(f"--learn-from goes with --estimator {COMBINED}, which fits a model")
    if estimated.denominator is None:
        del options["denominator"]
    elif estimator not in HAS_COVARIANCE:
        raise ValueError(
            f"--denominator goes with --estimator {' or '.join(HAS_COVARIANCE)}, not {estimator}"
        )
    predictor = predictor_of(estimated.predictor, estimator, judged.labels)
    level = {"relevance_level": estimated.relevance_level}
    return {"estimator": estimator, "predictor": predictor} | options | level


def dyn_if_combined(estimator: str) -> str:
    """The estimator itself, or the one that a model is combined with."""
    return "dyn" if estimator == COMBINED else estimator


def check_population(population: str | None, estimator: str) -> None:
    """Refuse these topics for an estimator that has no covariance of the design."""
    from bayeseval.estimators import HAS_COVARIANCE

    if population == "sample" and estimator not in (COMBINED, *HAS_COVARIANCE):
        raise ValueError(
            f"--population sample: estimator '{estimator}' has no design covariance; estimators "
            f"that have one: {', '.join(HAS_COVARIANCE)}"
        )


def check_combinable(collection: DataTree, measures: list[str], relevance_level: int) -> None:
    """Refuse, before any estimate, what dyn and a model of documents cannot be combined for."""
    from bayeseval.frame.frame import BY_CHANCE, Frame
    from bayeseval.posterior.modelled import scored_by_relevance

    scheme = collection["design"].attrs["scheme"] if "design" in collection.children else None
    if scheme not in BY_CHANCE:
        raise ValueError(
            "--estimator combined needs the --design of a random sample (stratified or Poisson)"
            + ("" if scheme is None else f", and this one is {scheme}")
        )
    if Frame.of(collection).lists_sampled_alone:
        raise ValueError(
            "--estimator combined predicts every document that could have been sampled, and these "
            "judgments list the sampled ones alone; take --estimator stat"
        )
    scored_by_relevance(collection, measures, relevance_level)


def combined(
    collection: DataTree,
    measures: list[str],
    estimated: Estimated,
    options: dict,
    seed: int,
    **asked: Any,
) -> Dataset:
    """Scores by dyn and a model combined; runs that are unlike the model are named.

    ``asked`` are the population, the groups of topics, and whether every topic has scores too.
    """
    with working("estimating, fitting a model, and combining"):
        scores = be.scores(
            collection,
            measures,
            estimator=COMBINED,
            predictor=options["predictor"],
            relevance_level=estimated.relevance_level,
            ci_prob=estimated.ci_prob,
            anytime=estimated.anytime,
            learn_from=estimated.learn_from,
            random_seed=seed,
            **asked,
        )
    note_fitted_runs(int((scores["group"] == "new").sum()))
    note_unlike(scores["unlike_model"])
    return scores


def predictor_of(
    text: str | None, estimator: str, labels: list[str] | None
) -> str | tuple[str, str | float | list[str]] | None:
    """The name of a predictor, or ``constant:VALUE`` as a pair; with labels, one that reads them.

    Refused are a predictor that is not known, and labels that would have no effect.
    """
    from bayeseval.predictors.registry import PREDICTORS, needs_column, reads_columns

    if labels:
        judges = list(label_files(labels))
        if estimator != "dyn":
            raise ValueError(
                f"--labels goes with --estimator dyn or combined; '{estimator}' does not use labels"
            )
        if text == "external" and len(judges) == 1:
            return text, judges[0]
        learned = [name for name in PREDICTORS if reads_columns(name) and name != "external"]
        if text is None or text in learned:
            return text or "pooled", judges
        raise ValueError(
            f"--predictor with --labels must be {', '.join(learned)} (learned from the labels) or "
            f"external (one judge's labels as they are), not {text!r}"
        )
    name, colon, value = (text or "").partition(":")
    if name == "constant" and colon:
        with suppress(ValueError):
            return name, float(value)
    ready = [name for name in PREDICTORS if not needs_column(name)]
    if text is None or text in ready:
        return text
    raise ValueError(
        f"--predictor must be {', '.join(ready)} or constant:VALUE with a value from 0 to 1, "
        f"not {text!r}"
    )
