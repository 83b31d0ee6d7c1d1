"""`--estimator combined`: dyn and a model, scored, compared, ranked and reported."""

import io
import json

import numpy as np
import pandas as pd
import pytest
import xarray as xr

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
    return be.scores(sampled, "P@10", estimator="combined", random_seed=3)


@pytest.fixture
def answers(monkeypatch):
    """Makes the package answer what is known, where it is asked what it is known for."""

    def known(scores, collection, **options):
        def answer(given, measures, **asked):
            xr.testing.assert_identical(given, collection)
            defaults = {"predictor": None, "relevance_level": 1, "ci_prob": 0.9, "random_seed": 3}
            defaults |= {"learn_from": "design", "estimator": "combined", "anytime": False}
            defaults |= {"population": asked["population"], "topic_groups": None}
            defaults |= {"per_topic": False} if "per_topic" in asked else {}
            assert (measures, asked) == (["P@10"], defaults | options)
            return scores

        monkeypatch.setattr(be, "scores", answer)

    return known


OPTIONS = {"predictor": ("recalibrated", ["judge"]), "relevance_level": 2, "ci_prob": 0.7}


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
    return be.scores(labelled, "P@10", estimator="combined", random_seed=3, **OPTIONS)


@pytest.mark.parametrize("name", ["evaluate", "compare", "rank"])
def test_options_are_handed_on(command, words, labels, labelled, labelled_scores, answers, name):
    asked = ["--predictor", "recalibrated", "--relevance-level", "2", "--ci-prob", "0.7"]
    asked += ["--labels", labels, "--seed", "3", "--format", "csv"]
    more = [] if name == "evaluate" else ["--prior", "normal"]
    answers(labelled_scores, labelled, **OPTIONS)
    code, out, err = command(name, *words, *MEASURE, *asked, *more)
    assert code == 0, err
    rows, scores = pd.read_csv(io.StringIO(out)), labelled_scores
    if name == "compare":
        known = be.rankings.compare_draws(scores, prior="normal", ci_prob=0.7)
        expected = be.to_frame(known)[["estimate", "lower", "upper", "probability_better"]]
    elif name == "rank":
        chances = be.rankings.rank_probabilities(scores, prior="normal", random_seed=3)
        sets = be.rankings.rank_sets(scores, ci_prob=0.7, random_seed=3)
        sets = sets.assign(expected_rank=chances["expected_rank"])
        known = be.to_frame(sets)[["run", "estimate", "lower", "upper", "expected_rank"]]
        expected = known.set_index("run").loc[rows["run"]].reset_index(drop=True)
    else:
        expected = be.to_frame(scores)[["estimate", "lower", "upper", "unlike_model"]]
    pd.testing.assert_frame_equal(rows[list(expected)], expected, check_dtype=False, rtol=1e-9)


def test_evaluate_writes_the_combined_scores_beside_what_the_design_knows(command, words, scores):
    code, out, err = command("evaluate", *words, *MEASURE, "--seed", "3", "--format", "csv")
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
    assert f"length of combined intervals over dyn's, mean over runs: {ratio:.2f} (P@10)" in err
    assert "the model is not fitted to 1 run: --learn-from all includes" in err


def test_topics_and_their_population_have_combined_intervals(command, words, sampled):
    asked = ["--per-topic", "--population", "topics", "--seed", "3", "--format", "csv"]
    code, out, err = command("evaluate", *words, *MEASURE, *asked)
    assert code == 0, err
    rows = pd.read_csv(io.StringIO(out), dtype={"topic": str})
    options = {"estimator": "combined", "population": "topics", "random_seed": 3}
    expected = be.scores(sampled, "P@10", per_topic=True, **options).sel(measure="P@10")
    mean = rows.query("topic == 'all'")
    np.testing.assert_allclose(mean[["lower", "upper"]], expected["interval"], atol=1e-12)
    of_topics = rows.query("topic != 'all'").set_index(["run", "topic"])
    for name, bound in (("lower", 0), ("upper", 1)):
        known = expected["topic_interval"].isel(ci_bound=bound).to_series()
        np.testing.assert_allclose(of_topics[name], known.loc[of_topics.index], atol=1e-12)
    assert "intervals of single topics are the model's alone" in err
    asked = ["--population", "topics", "--seed", "3", "--format", "csv"]
    code, out, err = command("compare", *words, *MEASURE, *asked)
    assert code == 0, err
    pairs = be.to_frame(be.compare(expected.drop_vars("topic").expand_dims("measure")))
    np.testing.assert_allclose(pd.read_csv(io.StringIO(out))["estimate"], pairs["estimate"])


def test_compare_has_differences_and_probabilities_and_no_p_values(
    command, words, sampled, scores, answers
):
    answers(scores, sampled)
    asked = ["--reference", "a", "--equivalence", "0.05", "--seed", "3"]
    code, out, err = command("compare", *words, *MEASURE, *asked, "--format", "json")
    assert code == 0, err
    answer = json.loads(out)
    pairs = be.rankings.compare_draws(scores, reference="a", equivalence=0.05)
    expected = be.to_frame(pairs)
    assert [row["run_a"] for row in answer["rows"]] == expected["run_a"].tolist()
    for name in ("estimate", "lower", "upper", "probability_better", "probability_equivalent"):
        given = [row[name] for row in answer["rows"]]
        np.testing.assert_allclose(given, expected[name], atol=1e-12)
    assert all(row["p_value"] is None and row["p_tukey"] is None for row in answer["rows"])
    assert (answer["prior"], answer["seed"]) == ("flat", 3)
    weight = scores["outside_weight"].sel(measure="P@10").to_series()
    for row in answer["rows"]:
        weights = row["outside_weight_a"], row["outside_weight_b"]
        assert weights == pytest.approx((weight[row["run_a"]], weight["a"]), abs=1e-12)
    plain = be.compare(sampled, "P@10", estimator="dyn", reference="a")
    length, of_dyn = (
        one["interval"].diff("ci_bound").squeeze().to_numpy() for one in (pairs, plain)
    )
    note = f"over dyn's, median of the differences: {np.median(length / of_dyn):.2f} (P@10)"
    assert note in err and "dyn knows" not in err
    _, out, _ = command("compare", *words, *MEASURE, *asked)
    head = out.splitlines()[2]
    assert "P(a > b)" in head and "P(equivalent)" in head and "Holm" not in head
    assert "combined, 90% intervals over these topics" in out


def test_a_run_that_is_worse_by_the_combined_scores_has_an_exit_code(
    command, words, sampled, scores, answers
):
    order = scores["run"].to_numpy()[np.argsort(scores["estimate"].squeeze().to_numpy())]
    answers(scores, sampled, ci_prob=0.01)
    narrow = ["--ci-prob", "0.01", "--seed", "3", "--fail-if-worse"]
    code, _, err = command("compare", *words, *MEASURE, "--reference", order[-1], *narrow)
    assert code == 3 and f"worse than {order[-1]}" in err
    code, _, err = command("compare", *words, *MEASURE, "--reference", order[0], *narrow)
    assert code == 0, err


def test_rank_orders_runs_by_the_combined_scores(command, words, sampled, scores, answers):
    answers(scores, sampled)
    how = ["--top", "1", "--seed", "3", "--format", "json"]
    code, out, err = command("rank", *words, *MEASURE, *how)
    assert code == 0, err
    answer = json.loads(out)
    assert answer["prior"] == "flat" and answer["estimator"] == "combined"
    rows = pd.DataFrame(answer["rows"]).set_index("run")
    sets = be.rankings.rank_sets(scores, top=1, random_seed=3).sel(measure="P@10")
    chances = be.rankings.rank_probabilities(scores, random_seed=3).sel(measure="P@10")
    for name, known in {"rank": sets, "tie_group": sets, "best": sets}.items():
        assert rows[name].to_dict() == known[name].to_series().to_dict()
    np.testing.assert_allclose(rows["expected_rank"][chances["run"]], chances["expected_rank"])


def test_differences_that_dyn_knows_better_get_a_note(
    command, words, sampled, scores, answers, monkeypatch
):
    answers(scores, sampled)
    compare = be.compare

    def certain(*given, **options):
        pairs = compare(*given, **options)
        return pairs.assign(interval=0.1 * pairs["interval"])

    monkeypatch.setattr(be, "compare", certain)
    code, _, err = command("compare", *words, *MEASURE, "--seed", "3")
    assert code == 0 and "dyn knows 3 of 3 differences better, most that of " in err
    assert "times as long): take --estimator dyn for such pairs" in err


def test_a_report_combines_by_that_name_as_by_itself(command, words, tmp_path):
    pages = []
    for estimator in (words[-2:], []):
        page = tmp_path / f"page{len(pages)}.html"
        done = command("report", *words[:-2], *estimator, *MEASURE, "--output", page)
        assert done[0] == 0, done[2]
        pages.append(page.read_text())
    assert pages[0] == pages[1] and "dyn and the model combined" in pages[0]


@pytest.mark.parametrize("name", ["evaluate", "compare", "rank"])
def test_the_model_can_be_fitted_to_all_runs(command, words, sampled, name):
    asked = ["--learn-from", "all", "--seed", "3", "--format", "csv"]
    code, out, err = command(name, *words, *MEASURE, *asked)
    assert code == 0 and "is not fitted" not in err, err
    found = pd.read_csv(io.StringIO(out))["estimate"]
    scores = be.scores(sampled, "P@10", estimator="combined", learn_from="all", random_seed=3)
    known = be.rankings.compare_draws(scores) if name == "compare" else scores
    np.testing.assert_allclose(sorted(found), sorted(known["estimate"].to_numpy()[0]), atol=1e-9)


def test_a_fit_is_to_all_runs_where_it_is_asked_to(command, words, sampled, tmp_path):
    quick = ["--approximation", "laplace", "--draws", "50", "--chains", "2", "--seed", "1"]
    asked = [*words[:-2], *MEASURE, *quick, "--learn-from", "all", "--no-plots"]
    code, _, err = command("fit", *asked, "--output", tmp_path / "out")
    assert code == 0 and "the ranks of 3 runs" in err, err
    every = sampled["run"].to_numpy().tolist()
    model = be.models.relevance_model(sampled, runs=every)
    known = be.fit(model, approximation="laplace", draws=50, chains=2, random_seed=1)
    found = be.open_fit(tmp_path / "out" / "fit.nc")["posterior/reliability"]
    assert found["run"].to_numpy().tolist() == every
    np.testing.assert_array_equal(found, known["posterior/reliability"])
