"""`--estimator combined`: dyn and a model, scored, compared, ranked and reported."""

import io
import json

import numpy as np
import pandas as pd
import pytest

import bayeseval as be

MEASURE = ["-m", "P@10"]


@pytest.fixture
def words(command, files):
    """Judgments of twelve documents a topic, runs of which c comes later, and the design."""
    early, late = [files / "a", files / "b"], files / "c"
    design, listed = files / "design.nc", files / "listed.tsv"
    done = command(
        "sample", *early, "--budget", "12", "--n-strata", "3", "--seed", "1", "--design-file",
        design, "--output", listed,
    )  # fmt: skip
    assert done[0] == 0, done[2]
    asked = set(listed.read_text().splitlines())
    lines = (files / "qrels").read_text().splitlines()
    judged = [line for line in lines if "\t".join(line.split()[::2][:2]) in asked]
    (files / "judged").write_text("\n".join(judged) + "\n")
    return [files / "judged", *early, late, "--design", design, "--estimator", "combined"]


@pytest.fixture
def scores(words):
    collection = be.read_collection(None, [str(path) for path in words[1:4]])
    sampled = be.attach_judgments(collection, be.read_design(words[5]), str(words[0]))
    return be.combined_scores(sampled, "P@10", random_seed=3)


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
    ratio = float((one["interval"].diff("ci_bound")[:, 0] / one["design_length"]).mean())
    assert f"length of combined intervals over dyn's, mean over runs: {ratio:.2f} (P@10)" in err


def test_compare_has_differences_and_probabilities_and_no_p_values(command, words, scores):
    asked = ["--reference", "a", "--equivalence", "0.05", "--seed", "3"]
    code, out, err = command("compare", *words, *MEASURE, *asked, "--format", "json")
    assert code == 0, err
    said = json.loads(out)
    pairs = be.rankings.compare_draws(scores, reference="a", equivalence=0.05)
    expected = be.to_frame(pairs)
    assert [row["run_a"] for row in said["rows"]] == expected["run_a"].tolist()
    for name in ("estimate", "lower", "upper", "probability_better", "probability_equivalent"):
        given = [row[name] for row in said["rows"]]
        np.testing.assert_allclose(given, expected[name], atol=1e-12)
    assert all(row["p_value"] is None and row["p_tukey"] is None for row in said["rows"])
    _, out, _ = command("compare", *words, *MEASURE, *asked)
    head = out.splitlines()[2]
    assert "P(a > b)" in head and "P(equivalent)" in head and "Holm" not in head
    assert "combined, 90% intervals over these topics" in out


def test_a_run_that_is_worse_by_the_combined_scores_has_an_exit_code(command, words, scores):
    order = scores["run"].to_numpy()[np.argsort(scores["estimate"].squeeze().to_numpy())]
    narrow = ["--ci-prob", "0.01", "--seed", "3", "--fail-if-worse"]
    code, _, err = command("compare", *words, *MEASURE, "--reference", order[-1], *narrow)
    assert code == 3 and f"worse than {order[-1]}" in err
    code, _, err = command("compare", *words, *MEASURE, "--reference", order[0], *narrow)
    assert code == 0, err


def test_rank_orders_runs_by_the_combined_scores(command, words, scores):
    how = ["--top", "1", "--seed", "3", "--format", "json"]
    code, out, err = command("rank", *words, *MEASURE, *how)
    assert code == 0, err
    said = json.loads(out)
    assert said["prior"] == "flat" and said["estimator"] == "combined"
    rows = pd.DataFrame(said["rows"]).set_index("run")
    sets = be.rankings.rank_sets(scores, top=1, random_seed=3).sel(measure="P@10")
    chances = be.rankings.rank_probabilities(scores, random_seed=3).sel(measure="P@10")
    for name, known in {"rank": sets, "tie_group": sets, "best": sets}.items():
        assert rows[name].to_dict() == known[name].to_series().to_dict()
    np.testing.assert_allclose(rows["expected_rank"][chances["run"]], chances["expected_rank"])
    if rows["tie_group"].max() == 1:
        assert "P@10: one group, since nowhere are all runs above found better" in err


def test_a_report_combines_by_that_name_as_by_itself(command, words, files):
    pages = []
    for estimator in (words[-2:], []):
        page = files / f"page{len(pages)}.html"
        done = command(
            "report", *words[:-2], *estimator, *MEASURE, "--draws", "50", "--output", page
        )
        assert done[0] == 0, done[2]
        pages.append(page.read_text())
    assert pages[0] == pages[1] and "dyn and the model combined" in pages[0]
    done = command("report", *words, *MEASURE, "--no-model", "--output", files / "none.html")
    assert done[0] == 2 and "goes with the model, not with --no-model" in done[2]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["evaluate", "--outside", "missing"], "--outside missing does not go with"),
        (["evaluate", "--missing-topics", "skip"], "--missing-topics skip does not go with"),
        (["rank", "--denominator", "topic"], "--denominator topic does not go with"),
        (["evaluate", "--per-topic"], "--per-topic: design and model are combined for means"),
        (["evaluate", "--against", "a"], "--against: combined scores have no p values"),
        (["evaluate", "--population", "topics"], "--population topics: design and model"),
        (["compare", "--population", "topics"], "--population topics: design and model"),
        (["rank", "--population", "topics"], "--population topics: design and model"),
        (["rank", "--top", "4"], "--top must be a number of runs from 1 to 3, not 4"),
        (["compare", "--reference", "z"], "the collection has no run 'z'"),
        (["compare", "--equivalence", "-1"], "--equivalence must be above 0"),
        (["evaluate", "-m", "Bpref"], "Bpref has no posterior scores"),
        (["evaluate", "-m", "nDCG@10"], "nDCG@10 counts grades that a model of relevance from"),
        (["evaluate", "-m", "P(rel=2)@10"], "--estimator dyn has it, and bayeseval fit --model"),
    ],
)
def test_what_it_lacks_is_refused_before_the_fit(command, words, monkeypatch, given, message):
    monkeypatch.setattr(be, "combined_scores", lambda *_, **__: pytest.fail("fitted"))
    code, out, err = command(given[0], *words, *MEASURE, *given[1:])
    assert (code, out) == (2, "")
    assert message in err.splitlines()[-1]
