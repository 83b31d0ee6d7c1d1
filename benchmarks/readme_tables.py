"""Tables of the READMEs of intervals, in Markdown, from the results that are stored.

Prints, from ``combined_intervals/results.csv`` and ``interval_coverage/results.csv``: what came out
(means over collections), the ratio by collection, the samples that chose no constant, those with
the lowest coverage, the relevance model beside ``dyn``, and the model with errors of its own; from
``other_worlds/results.csv``: other worlds of the mechanisms, by ``dyn`` and combined.
"""

from pathlib import Path

import pandas as pd

HERE = Path(__file__).parent
COLLECTIONS = [
    "clef-tar-2017",
    "trec-covid-5",
    "trec8-like",
    "graded",
    "few-relevant",
    "few-runs",
]
ROLES = {"contributed": "contributing", "new": "new", "dual": "dual"}
MEASURES = ["P@10", "RBP(p=0.8)", "AP", "R@100"]
LOW = 0.855  # coverage below which a row is listed


def main() -> None:
    combined = pd.read_csv(HERE / "combined_intervals" / "results.csv")
    coverage = pd.read_csv(HERE / "interval_coverage" / "results.csv")
    shown("What came out (combined_intervals)", what_came_out(combined[combined.budget == 100]))
    shown("Ratio by collection", ratio_by_collection(combined[combined.budget == 100]))
    shown("Bias of AP of new runs by the model", bias_of_new(combined[combined.budget == 100]))
    shown("Samples that chose no constant", samples(coverage))
    shown("The same by collection, 100 judgments", samples_by_collection(coverage))
    shown("Combined rows above 1.02", above(coverage))
    shown("Combined rows of low coverage", low(coverage))
    shown("The relevance model, contributing runs", model_beside_dyn(coverage))
    shown("With errors of its own", own_errors(coverage))
    shown("Held-out collections", held_out(coverage))
    shown("Learning from new runs, means over the six", from_new(coverage))
    shown("New runs that the model learned from, by collection", from_new_by_collection(coverage))
    shown("Ratios by the counts, all kinds of runs alike: worst of the six", over_kinds(coverage))
    worlds = pd.read_csv(HERE / "other_worlds" / "results.csv")
    shown("Other worlds by dyn", worlds_by_dyn(worlds))
    shown("Other worlds, combined", worlds_combined(worlds))


def shown(title: str, rows: list[list[str]]) -> None:
    """A title and a table whose first row is its head."""
    print(f"\n{title}\n")
    for number, row in enumerate(rows):
        print("| " + " | ".join(row) + " |")
        if number == 0:
            print("|" + " --- |" * len(row))


def short(value: float, digits: int = 2) -> str:
    """A number as the texts write it, without a zero before the point."""
    return f"{value:.{digits}f}".replace("0.", ".", 1) if abs(value) < 1 else f"{value:.{digits}f}"


def what_came_out(rows: pd.DataFrame) -> list[list[str]]:
    """Means over the collections by measure and kind of run."""
    names = ["model_ratio", "ratio", "design_covered", "model_covered", "covered", "each_covered"]
    names += ["length_ratio", "each_length_ratio", "flagged"]
    means = rows.groupby(["measure", "role"])[names].mean()
    table = [["measure", "runs", *names]]
    for measure in MEASURES[:3]:
        for role, word in ROLES.items():
            table.append([measure, word, *(short(value) for value in means.loc[measure, role])])
    return table


def ratio_by_collection(rows: pd.DataFrame) -> list[list[str]]:
    """Contributing, new and dual runs in one cell."""
    ratio = rows.set_index(["collection", "measure", "role"]).ratio
    return _by_collection("contributing, new, dual", ratio, MEASURES[:3])


def _by_collection(head: str, values: pd.Series, measures: list[str]) -> list[list[str]]:
    """Values by collection, measure and kind of run, those of all kinds in one cell."""
    table = [[head, *measures]]
    for name in COLLECTIONS:
        cells = [" ".join(short(values[name, m, role]) for role in ROLES) for m in measures]
        table.append([name, *cells])
    return table


def bias_of_new(rows: pd.DataFrame) -> list[list[str]]:
    """What the model's AP of new runs is off by, on each collection."""
    some = rows[(rows.measure == "AP") & (rows.role == "new")].set_index("collection")
    bias = [f"{some.model_bias[name]:+.3f}" for name in COLLECTIONS]
    return [COLLECTIONS, bias]


def samples(rows: pd.DataFrame) -> list[list[str]]:
    """Ratio, coverage and coverage of dyn, means over the six, of every budget."""
    some = rows[rows.collection.isin(COLLECTIONS)]
    by = ["budget", "runs", "measure"]
    own = some[some.estimator == "combined"].groupby(by)[["over_dyn", "coverage"]].mean()
    dyn = some[some.estimator == "dyn"].groupby(by).coverage.mean()
    table = [["judgments", "runs", *MEASURES]]
    for budget in (100, 50, 200):
        for role, word in ROLES.items():
            keys = [(budget, role, measure) for measure in MEASURES]
            cells = [
                f"{short(own.over_dyn[key])}, {short(own.coverage[key])} ({short(dyn[key])})"
                for key in keys
            ]
            table.append([str(budget), word, *cells])
    return table


def from_new(rows: pd.DataFrame) -> list[list[str]]:
    """Ratio and coverage of the combination that learns from new runs, and those without."""
    some = rows[rows.collection.isin(COLLECTIONS)]
    by = ["estimator", "budget", "runs", "measure"]
    mean = some.groupby(by)[["over_dyn", "coverage"]].mean()
    table = [["judgments", "runs", *MEASURES]]
    for budget in (100, 50, 200):
        for role, word in ROLES.items():
            keys = [(budget, role, measure) for measure in MEASURES]
            cells = [_beside(mean, key) for key in keys]
            table.append([str(budget), word, *cells])
    return table


def from_new_by_collection(rows: pd.DataFrame) -> list[list[str]]:
    """The same of new runs on each collection, 100 judgments; last, by the model alone."""
    some = rows[(rows.budget == 100) & (rows.runs == "new")]
    table_of = some.set_index(["estimator", "collection", "measure"])[["over_dyn", "coverage"]]
    alone = table_of.coverage["relevance_model, learning from new runs, with its own errors"]
    table = [["", *MEASURES, "model with its own errors"]]
    for name in alone.index.unique("collection"):
        cells = [_beside(table_of, (name, measure)) for measure in MEASURES]
        table.append([name, *cells, " ".join(short(alone[name, m]) for m in MEASURES)])
    return table


def _beside(table: pd.DataFrame, key: tuple) -> str:
    """Ratio and coverage where the model learned from new runs, and in brackets without."""
    found = table.loc[("combined, learning from new runs", *key)]
    usual = table.loc[("combined", *key)]
    now, before = (f"{short(one.over_dyn)}, {short(one.coverage)}" for one in (found, usual))
    return f"{now} ({before})"


def samples_by_collection(rows: pd.DataFrame) -> list[list[str]]:
    """Ratio of contributing, new and dual runs."""
    some = rows[(rows.estimator == "combined") & (rows.budget == 100)]
    return _by_collection("", some.set_index(["collection", "measure", "runs"]).over_dyn, MEASURES)


def above(rows: pd.DataFrame) -> list[list[str]]:
    """Rows of the combination that err more than dyn."""
    some = rows[(rows.estimator == "combined") & (rows.over_dyn > 1.02)]
    return _listed(some, "over_dyn")


def low(rows: pd.DataFrame) -> list[list[str]]:
    """Rows of the combination whose intervals hold least, beside those of dyn."""
    some = rows[(rows.estimator == "combined") & (rows.coverage < LOW)]
    keys = ["collection", "budget", "runs", "measure"]
    dyn = rows[rows.estimator == "dyn"].set_index(keys).coverage
    beside = [dyn.get(tuple(row), float("nan")) for row in some[keys].to_numpy()]
    return _listed(some.assign(dyn=beside), "coverage", "coverage_error", "dyn")


def _listed(rows: pd.DataFrame, *names: str) -> list[list[str]]:
    keys = ["budget", "collection", "runs", "measure"]
    table = [[*keys, *names]]
    for row in rows.sort_values(keys).itertuples():
        facts = [str(getattr(row, key)) for key in keys]
        table.append([*facts, *(short(getattr(row, name)) for name in names)])
    return table


def model_beside_dyn(rows: pd.DataFrame) -> list[list[str]]:
    """RMS error and coverage of contributing runs, those of dyn in brackets."""
    some = rows[(rows.budget == 100) & (rows.runs == "contributed")]
    some = some.set_index(["estimator", "collection", "measure"])
    table = [["collection", *MEASURES]]
    for name in COLLECTIONS:
        cells = []
        for measure in MEASURES:
            model, dyn = (some.loc[e, name, measure] for e in ("relevance_model", "dyn"))
            own = f"{short(model.rms_error, 4)}, {short(model.coverage)}"
            cells.append(f"{own} ({short(dyn.rms_error, 4)}, {short(dyn.coverage)})")
        table.append([name, *cells])
    return table


def own_errors(rows: pd.DataFrame) -> list[list[str]]:
    """Coverage by the model with errors of its own: contributing, new, dual runs."""
    some = rows[(rows.estimator == "relevance_model, with its own errors") & (rows.budget == 100)]
    held = some.set_index(["collection", "measure", "runs"]).coverage
    return _by_collection("contributing, new, dual", held, MEASURES)


def held_out(rows: pd.DataFrame) -> list[list[str]]:
    """Collections that no constant was learned on: combined beside dyn, and the model alone."""
    some = rows[~rows.collection.isin(COLLECTIONS) & (rows.budget == 100)]
    by = some.set_index(["collection", "runs", "estimator", "measure"])
    table = [["collection", "runs", *MEASURES, "model alone, with errors of its own"]]
    for name in some.collection.unique():
        for role, word in ROLES.items():
            own, dyn, alone = (
                [by.loc[name, role, estimator, measure] for measure in MEASURES]
                for estimator in ("combined", "dyn", "relevance_model, with its own errors")
            )
            cells = [
                f"{short(a.over_dyn)}, {short(a.coverage)} ({short(b.coverage)})"
                for a, b in zip(own, dyn, strict=True)
            ]
            held = " ".join(short(row.coverage) for row in alone)
            table.append([name, word, *cells, held])
    return table


def over_kinds(rows: pd.DataFrame) -> list[list[str]]:
    """Least coverage, largest bias and largest errors over those of the topic's own number."""
    ratios = rows[rows.collection.isin(COLLECTIONS) & rows.measure.isin(["AP", "nDCG@10", "R@100"])]
    of_error = ratios.bias / ratios.bias_over_error
    ratios = ratios.assign(error=of_error, square=ratios.rms_error**2)
    means = ratios.groupby(["estimator", "budget", "measure", "collection"])[
        ["bias", "error", "square", "coverage", "difference_coverage"]
    ].mean()
    table = [
        ["budget", "estimator", "measure", "coverage", "differences", "bias", "error over own"]
    ]
    for name in ("stat", "dyn"):
        counts, own = means.loc[name], means.loc[f"{name} (topic)"]
        found = counts.assign(
            bias=(counts.bias / counts.error).abs(), over=(counts.square / own.square) ** 0.5
        )
        for (budget, measure), cells in found.groupby(level=["budget", "measure"]):
            least = [cells[one].min() for one in ("coverage", "difference_coverage")]
            most = [cells[one].max() for one in ("bias", "over")]
            where = cells.over.idxmax()[-1]
            texts = [*map(short, [*least, most[0]]), f"{short(most[1])} ({where})"]
            table.append([str(budget), name, measure, *texts])
    return table


def worlds_by_dyn(rows: pd.DataFrame) -> list[list[str]]:
    """Bias (its spread over worlds), coverage, and error over that by the topic's own number."""
    measures = ["AP", "nDCG@10", "R@100"]
    by = rows.set_index(["mechanism", "runs", "by", "measure"])
    table = [["mechanism, runs", *measures]]
    for name in rows.mechanism.unique():
        for role, word in ROLES.items():
            cells = []
            for row in (by.loc[name, role, "dyn", measure] for measure in measures):
                sign = "-" if row.bias_over_error < 0 else "+"
                bias = f"{sign}{short(abs(row.bias_over_error))} ({short(row.bias_spread)})"
                error = f"{short(row.over_topic)} +- {short(row.over_topic_error)}"
                cells.append(f"{bias}, {short(row.coverage)}, {error}")
            table.append([f"{name}, {word}", *cells])
    return table


def worlds_combined(rows: pd.DataFrame) -> list[list[str]]:
    """Ratio and coverage of the combination, and coverage by the model with its own errors."""
    by = rows.set_index(["mechanism", "runs", "by", "measure"])
    table = [["mechanism, runs", *MEASURES, "model, with errors of its own"]]
    for name in rows.mechanism.unique():
        for role, word in ROLES.items():
            both, alone = (
                [by.loc[name, role, source, measure] for measure in MEASURES]
                for source in ("combined", "relevance_model, with its own errors")
            )
            cells = [
                f"{short(row.over_dyn)} +- {short(row.over_dyn_error)}, {short(row.coverage)}"
                for row in both
            ]
            held = " ".join(short(row.coverage) for row in alone)
            table.append([f"{name}, {word}", *cells, held])
    return table


if __name__ == "__main__":
    main()
