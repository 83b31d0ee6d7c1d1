"""`about`: five lines, and a table in a notebook, on every kind of object."""

import pandas as pd
import pytest

import bayeseval as be


@pytest.fixture(scope="module")
def sampled():
    collection = be.simulate.urn_collection(
        [0.05, 0.3, 0.1], n_topics=5, prevalence=0.1, random_seed=3
    )
    names = collection["run"].to_numpy()
    table = pd.DataFrame({"run": names, "contributed": names != "run003"})
    whole = be.read_collection(
        be.trec.qrels_frame(collection), be.trec.runs_frame(collection), run_table=table
    )
    design = be.designs.order(whole, budget=20, random_seed=1)
    return be.reveal(whole, design, be.draw(design))


@pytest.fixture(scope="module")
def fitted(sampled):
    model = be.models.relevance_model(sampled)
    return be.fit(model, approximation="laplace", draws=20, random_seed=1)


OBJECTS = {
    "collection": lambda sampled, fitted: sampled,
    "bare collection": lambda sampled, fitted: be.read_collection(
        None, be.trec.runs_frame(sampled)
    ),
    "design": lambda sampled, fitted: be.designs.pps_strata(sampled, budget=20),
    "draws with replacement": lambda sampled, fitted: be.designs.with_replacement(
        sampled, budget=20
    ),
    "fit": lambda sampled, fitted: fitted,
    "by topic": lambda sampled, fitted: be.evaluate(sampled, ["P@10", "AP"], estimator="dyn"),
    "scores": lambda sampled, fitted: be.scores(sampled, "P@10", estimator="dyn"),
    "pairs": lambda sampled, fitted: be.compare(sampled, "P@10", estimator="dyn"),
    "ranks": lambda sampled, fitted: be.rank(sampled, "P@10", estimator="dyn"),
    "draws": lambda sampled, fitted: be.posterior_scores(fitted, sampled, "P@10", random_seed=1),
    "given": lambda sampled, fitted: be.read_scores(
        pd.DataFrame({"a": [0.1, 0.2], "b": [0.3, 0.2]}), measure="F1"
    ),
}
EXPECTED = {
    "collection": [
        "collection",
        "5",
        "3, 1 of them new",
        "100 of ",
        "20 per topic",
        "order (strat",
    ],
    "bare collection": ["collection", "5", "3", "none", "none"],
    "design": [
        "design",
        "5",
        "documents that can be drawn",
        "about 100",
        "pps_strata (stratified)",
    ],
    "draws with replacement": ["design", "drawn with replacement"],
    "fit": [
        "fit",
        "relevance_model",
        "1 chain of 80 draws, by a laplace approximation",
        "5 topics",
    ],
    "by topic": ["P@10, AP", "3 runs, 5 topics", "dyn", "90%"],
    "scores": ["estimate, standard_error", "P@10", "3 runs", "dyn", "90% for these topics"],
    "pairs": ["P@10", "3 comparisons", "dyn", "90% for these topics"],
    "ranks": ["P@10", "3 runs", "dyn", "90% for these topics"],
    "draws": ["P@10", "3 runs", "relevance_model", "80 posterior draws instead"],
    "given": ["F1", "2 runs, 2 topics", "scores of another tool", "none"],
}


@pytest.mark.parametrize("name", OBJECTS)
def test_every_kind_of_object_has_five_lines_and_a_table_of_the_same(name, sampled, fitted):
    described = be.about(OBJECTS[name](sampled, fitted))
    lines = repr(described).splitlines()
    assert len(lines) == 5 and all(len(line) < 120 for line in lines)
    assert all(part in repr(described) for part in EXPECTED[name]), repr(described)
    table = described._repr_html_()
    assert table.count("<tr>") == 5
    assert all(f">{text}</td>" in table for text in described.facts.values())


def test_names_are_escaped_in_the_table_and_other_things_are_refused():
    scores = be.read_scores(pd.DataFrame({"a": [0.1, 0.2], "b": [0.3, 0.2]}), measure="<F1>")
    assert "&lt;F1&gt;" in be.about(scores)._repr_html_()
    with pytest.raises(TypeError, match="takes a DataTree or a Dataset, not a list"):
        be.about([])  # pyright: ignore[reportArgumentType]
