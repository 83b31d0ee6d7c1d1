"""`--estimator combined`: dyn and a model, scored, compared, ranked and reported."""

import io
import json

import numpy as np
import pandas as pd
import pytest

import bayeseval as be

MEASURE = ["-m", "P@10"]


@pytest.fixture(scope="module")
def words(kept_files, draw_sample):
    """Judgments of twelve documents a topic, runs of which c comes later, and the design."""
    design = draw_sample(kept_files, runs="ab")
    runs = [kept_files / name for name in "abc"]
    return [kept_files / "judged", *runs, *design, "--estimator", "combined"]


@pytest.fixture(scope="module")
def sampled(words):
    collection = be.read_collection(None, [str(path) for path in words[1:4]])
    return be.attach_judgments(collection, be.read_design(words[5]), str(words[0]))


@pytest.fixture(scope="module")
def scores(sampled):
    return be.scores(sampled, "P@10", estimator="combined", random_seed=0)


OPTIONS = {"labels": ["judge"], "relevance_level": 2, "ci_prob": 0.7}


@pytest.fixture(scope="module")
def labels(kept_files, sampled):
    """File of likely relevance of all documents."""
    path, pairs = kept_files / "judge.csv", sampled.to_dataset()
    topic = pairs["topic"].to_numpy()[pairs["pair_topic"].to_numpy()]
    likely = np.random.default_rng(2).random(topic.size).round(2)
    table = {"topic": topic, "document": pairs["document"].to_numpy(), "label": likely}
    pd.DataFrame(table).to_csv(path, index=False)
    return path


@pytest.fixture(scope="module")
def labelled(sampled, labels):
    return be.add_predictions(sampled, "judge", labels)


@pytest.fixture(scope="module")
def labelled_scores(labelled):
    return be.scores(labelled, "P@10", estimator="combined", random_seed=0, **OPTIONS)


@pytest.mark.parametrize("name", ["evaluate", "compare", "rank"])
def test_options_are_handed_on(command, words, labels, labelled, name):
    asked = ["--ci-prob", "0.7", "--labels", labels, "--format", "csv"]
    level = [*MEASURE, "--relevance-level", "2"]
    level = ["-m", "P(rel=2)@10"] if name == "compare" else level
    code, out, err = command(name, *words, *level, *asked)
    assert code == 0, err
    function = {"evaluate": be.scores, "compare": be.compare, "rank": be.rank}[name]
    how = OPTIONS | ({"relevance_level": 1} if name == "compare" else {})
    known = function(labelled, level[1], estimator="combined", **how)
    names = {
        "evaluate": ["estimate", "lower", "upper", "unlike_model"],
        "compare": ["estimate", "lower", "upper", "probability_better", "outside_weight_a"],
        "rank": ["estimate", "lower", "upper", "expected_rank"],
    }[name]
    known = known.drop_vars("probability_better", errors="ignore") if name == "rank" else known
    rows, expected = pd.read_csv(io.StringIO(out)), be.to_frame(known)
    if name == "rank":
        expected = expected.set_index("run").loc[rows["run"]].reset_index(drop=True)
    pd.testing.assert_frame_equal(rows[names], expected[names], check_dtype=False, rtol=1e-9)


@pytest.mark.parametrize("name", ["evaluate", "compare", "rank"])
def test_a_random_sample_is_scored_by_design_and_model_unless_told_otherwise(command, words, name):
    given = [*words[:-2], *MEASURE, "--format", "csv"]
    code, out, err = command(name, *given)
    assert code == 0 and set(pd.read_csv(io.StringIO(out))["estimator"]) == {"combined"}, err
    assert err.count("estimator combined, dyn and a model, because the judgments are a random") == 1
    code, out, err = command(name, *given, "--estimator", "combined")
    assert code == 0 and "estimator combined" not in err


def test_evaluate_writes_the_combined_scores_beside_what_the_design_knows(command, words, scores):
    code, out, err = command("evaluate", *words, *MEASURE, "--format", "csv")
    assert code == 0, err
    rows = pd.read_csv(io.StringIO(out)).set_index("run")
    assert set(rows["estimator"]) == {"combined"}
    one = scores.sel(measure="P@10")
    for name in ("estimate", "standard_error", "outside_weight", "n_topics"):
        np.testing.assert_allclose(rows[name], one[name], atol=1e-12)
    np.testing.assert_allclose(rows[["lower", "upper"]], one["interval"], atol=1e-12)
    assert rows["degrees_of_freedom"].isna().all()
    for name in ("length_ratio", "model_weight", "unlike_model"):
        np.testing.assert_allclose(rows[name], one[name], atol=1e-12)
    assert set(rows["model"]) == {"relevance_model"}
    ratio = float(one["length_ratio"].mean())
    said = f"combined intervals are {ratio:.2f} (P@10) times as long as dyn's, mean over runs"
    assert said in err


def test_topics_and_their_population_have_combined_intervals(command, words, sampled):
    asked = ["--per-topic", "--population", "topics", "--format", "csv"]
    code, out, err = command("evaluate", *words, *MEASURE, *asked)
    assert code == 0, err
    rows = pd.read_csv(io.StringIO(out), dtype={"topic": str})
    options = {"estimator": "combined", "population": "topics"}
    expected = be.scores(sampled, "P@10", per_topic=True, **options).sel(measure="P@10")
    mean = rows.query("topic == 'all'")
    np.testing.assert_allclose(mean[["lower", "upper"]], expected["interval"], atol=1e-12)
    of_topics = rows.query("topic != 'all'").set_index(["run", "topic"])
    for name, bound in (("lower", 0), ("upper", 1)):
        known = expected["topic_interval"].isel(ci_bound=bound).to_series()
        np.testing.assert_allclose(of_topics[name], known.loc[of_topics.index], atol=1e-12)
    assert "intervals of single topics are the model's alone" in err
    asked = ["--population", "topics", "--format", "csv"]
    code, out, err = command("compare", *words, *MEASURE, *asked)
    assert code == 0, err
    pairs = be.to_frame(be.compare(expected.drop_vars("topic").expand_dims("measure")))
    np.testing.assert_allclose(pd.read_csv(io.StringIO(out))["estimate"], pairs["estimate"])


def test_compare_has_differences_and_probabilities_and_no_p_values(command, words, sampled):
    asked = ["--reference", "a", "--equivalence", "0.05"]
    code, out, err = command("compare", *words, *MEASURE, *asked, "--format", "json")
    assert code == 0, err
    answer = json.loads(out)
    pairs = be.compare(sampled, "P@10", estimator="combined", reference="a", equivalence=0.05)
    expected = be.to_frame(pairs)
    assert [row["run_a"] for row in answer["rows"]] == expected["run_a"].tolist()
    for name in ("estimate", "lower", "upper", "probability_better", "probability_equivalent"):
        given = [row[name] for row in answer["rows"]]
        np.testing.assert_allclose(given, expected[name], atol=1e-12)
    assert all(row["p_value"] is None and row["p_tukey"] is None for row in answer["rows"])
    assert answer["prior"] == "flat"
    plain = be.compare(sampled, "P@10", estimator="dyn", reference="a")
    length, of_dyn = (
        one["interval"].diff("ci_bound").squeeze().to_numpy() for one in (pairs, plain)
    )
    np.testing.assert_allclose(pairs["length_ratio"].squeeze(), length / of_dyn)
    note = (
        f"{np.median(length / of_dyn):.2f} (P@10) times as long as dyn's, median of the differences"
    )
    assert note in err and "dyn knows" not in err
    _, out, _ = command("compare", *words, *MEASURE, *asked)
    assert "P(a > b)" in out and "P(equivalent)" in out and "Tukey" not in out
    assert "P@10, combined, 90% intervals over these topics" in " ".join(out.split())


def test_one_pair_is_compared_while_the_model_learns_from_all_runs(command, words, sampled):
    code, out, err = command("compare", *words, *MEASURE, "--pair", "c", "a", "--format", "csv")
    assert code == 0, err
    row = pd.read_csv(io.StringIO(out)).iloc[0]
    every = be.to_frame(be.compare(sampled, "P@10", estimator="combined"))
    known = every.set_index(["run_a", "run_b"]).loc[("a", "c")]
    assert (row["run_a"], row["run_b"]) == ("c", "a")
    assert row["estimate"] == pytest.approx(-known["estimate"])
    assert [row["lower"], row["upper"]] == pytest.approx([-known["upper"], -known["lower"]])


def test_a_run_that_is_worse_by_the_combined_scores_has_an_exit_code(command, words, scores):
    order = scores["run"].to_numpy()[np.argsort(scores["estimate"].squeeze().to_numpy())]
    narrow = ["--ci-prob", "0.01", "--fail-if-worse"]
    code, _, err = command("compare", *words, *MEASURE, "--reference", order[-1], *narrow)
    assert code == 3 and f"worse than {order[-1]}" in err
    code, _, err = command("compare", *words, *MEASURE, "--pair", order[-1], order[0], *narrow)
    assert code == 0, err


def test_rank_orders_runs_by_the_combined_scores(command, words, scores):
    code, out, err = command("rank", *words, *MEASURE, "--top", "1", "--format", "json")
    assert code == 0, err
    answer = json.loads(out)
    assert answer["prior"] == "flat" and answer["estimator"] == "combined"
    rows = pd.DataFrame(answer["rows"]).set_index("run")
    sets = be.rankings.rank_sets(scores, top=1, random_seed=0, simultaneous=True).sel(
        measure="P@10"
    )
    for name in ("rank", "tie_group", "best"):
        assert rows[name].to_dict() == sets[name].to_series().to_dict()


def test_a_report_combines_by_that_name_as_by_itself(command, words, tmp_path):
    pages = []
    for estimator in (words[-2:], []):
        page = tmp_path / f"page{len(pages)}.html"
        done = command("report", *words[:-2], *estimator, *MEASURE, "--output", page)
        assert done[0] == 0, done[2]
        pages.append(page.read_text())
    assert pages[0] == pages[1] and "dyn and the model combined" in pages[0]
