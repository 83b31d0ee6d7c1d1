"""The blocks of the pages that are marked to be run do what they say."""

import json
import re
from functools import partial
from pathlib import Path

import arviz as az
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pymc as pm
import pytest
import xarray as xr

import bayeseval as be
from bayeseval.estimators import ESTIMATORS, WITHOUT_DESIGN
from tests.small import small_collection

DOCS = Path(__file__).parents[2] / "docs"


def ran(page: str, name: str, given: dict) -> dict:
    """Names after the marked block of a page has run with some that are given."""
    mark = rf"<!-- {name}: tests/docs/test_pages.py runs it -->\n```python\n(.*?)```"
    found = re.search(mark, (DOCS / page).read_text(), flags=re.DOTALL)
    assert found, f"{page} has no block '{name}'"
    names = dict(given)
    exec(compile(found[1], page, "exec"), names)
    return names


@pytest.fixture
def drawn(tmp_path, monkeypatch) -> pd.DataFrame:
    """Judgments of a Poisson sample with probabilities that a script made, and their files."""
    monkeypatch.chdir(tmp_path)
    truth = small_collection()
    (tmp_path / "runs").mkdir()
    for run in truth["run"].to_numpy():
        be.trec.write_run(truth, run, tmp_path / "runs" / f"{run}.txt")
    every = be.trec.qrels_frame(truth)
    random = np.random.default_rng(2)
    every["probability"] = random.uniform(0.3, 1, len(every)).round(3)
    every["drawn"] = (random.random(len(every)) < every["probability"]).astype(int)
    every[["topic", "document", "probability", "drawn"]].to_csv("chances.csv", index=False)
    judged = every[every["drawn"] == 1].drop(columns="drawn")
    judged.to_csv("judged.csv", index=False)
    listed = judged.assign(iter=0)[["topic", "iter", "document", "grade"]]
    listed.to_csv("judged.qrels", sep=" ", header=False, index=False)
    return judged


def test_probabilities_of_your_own_make_a_design(drawn):
    names = ran("data.md", "own-probabilities", {})
    design = names["sampled"]["design/inclusion_probability"].to_numpy()
    assert len(design) == 17 and (design >= 0.3).all()
    assert np.isfinite(names["mean"]["estimate"]).all() and Path("design.nc").exists()
    table = be.read_collection("judged.csv", "runs/*", qrels_format="probs")
    ours, theirs = (
        be.evaluate(judged, ["P@3", "NumRel"], estimator="stat")["estimate"]
        for judged in (names["sampled"], table)
    )
    np.testing.assert_allclose(ours, theirs.sel(run=ours["run"], topic=ours["topic"]))
    by_hand = (drawn["grade"].gt(0) / drawn["probability"]).groupby(drawn["topic"]).sum()
    np.testing.assert_allclose(ours.sel(measure="NumRel").isel(run=0), by_hand)


def test_leaderboards_are_read_by_task(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for model in "ab":
        folder = tmp_path / "results" / model / "no_revision"
        folder.mkdir(parents=True)
        (folder / "model_meta.json").write_text('{"name": "a"}')
        for number in range(3):
            better = (0.05 + 0.02 * number) * (model == "b")
            score = {"hf_subset": "default", "main_score": 0.1 * number + better}
            text = json.dumps({"task_name": f"T{number}", "scores": {"test": [score]}})
            (folder / f"T{number}.json").write_text(text)
            folder_of = tmp_path / f"benchmark_output/runs/v1/mmlu:subject={number},model={model}"
            folder_of.mkdir(parents=True)
            stats = [
                {
                    "instance_id": f"id{one}",
                    "stats": [{"name": {"name": "exact_match"}, "mean": float(one < number)}],
                }
                for one in range(2)
            ]
            (folder_of / "per_instance_stats.json").write_text(json.dumps(stats))
    ranks = ran("data.md", "mteb", {})["ranks"]
    assert ranks["rank"].sel(run=["b", "a"]).values.tolist() == [[1, 2]]
    scores = ran("data.md", "helm", {})["scores"]
    by_task = scores["estimate"].sel(run="a", measure="exact_match")
    assert sorted(by_task.values.tolist()) == [0.0, 0.5, 1.0]


TAKEN = {
    "sampleval": {"dyn", "stat", "stat_ap", "inf"},
    "prels": {"stat", "stat_ap"},
    "probs": {"stat", "stat_ap"},
}


@pytest.mark.parametrize("form", TAKEN)
@pytest.mark.filterwarnings("ignore")  # of so few judgments
def test_the_estimators_that_take_a_format_are_those_of_the_table(drawn, form):
    table = drawn.assign(stratum=drawn["probability"].gt(0.6).astype(int))
    collection = be.read_collection(table, "runs/*", qrels_format=form)
    taken = set()
    for estimator in sorted(set(ESTIMATORS) - set(WITHOUT_DESIGN)):
        try:
            be.evaluate(collection, "AP", estimator=estimator)
        except ValueError as error:
            assert estimator in str(error)
        else:
            taken.add(estimator)
    assert taken == TAKEN[form]
    row = re.search(rf"^\| `{form}` \|.*\| (.*) \|$", (DOCS / "data.md").read_text(), re.MULTILINE)
    assert row and set(re.findall(r"`(\w+)`", row[1])) == taken


@pytest.fixture(scope="module")
def assessed():
    """Twelve runs on four topics of the shipped collection, and assessors who know its grades."""
    demo = be.simulate.demo_collection()
    known = be.select(demo, runs=demo["run"].to_numpy()[:12].tolist(), topics=list("1234"))
    truth = be.trec.qrels_frame(known)

    def grades(listed: pd.DataFrame) -> pd.DataFrame:
        found = listed.merge(truth, how="left", on=["topic", "document"])
        return found.fillna({"grade": 0}).astype({"grade": int})

    collection = be.read_collection(None, be.trec.runs_frame(known))
    return {"be": be, "pd": pd, "collection": collection, "assessed": grades}


def test_stages_are_judged_one_after_the_other(assessed):
    names = ran("decide.md", "stages", assessed)
    assert names["design"].attrs["stages_left"] == 0
    assert (names["judged"].groupby("topic").size() == 30).all(), "no document was asked for twice"
    assert not names["judged"].duplicated(["topic", "document"]).any()
    assert np.isfinite(names["mean"]["estimate"]).all()


def test_the_next_documents_have_not_been_judged(assessed):
    names = ran("decide.md", "stages", assessed)
    names = ran("decide.md", "next", names)
    assert (names["listed"].groupby("topic").size() == 5).all()
    both = names["listed"].merge(names["judged"], on=["topic", "document"])
    assert both.empty
    batch = names["batch"]
    order = batch["judging_order"].to_numpy()
    first = batch["document"].to_numpy()[(order == 1) & (batch["pair_topic"] == 0)]
    assert names["listed"]["document"][0] == first


def test_topics_weigh_as_they_are_said_to():
    demo = be.simulate.demo_collection()
    known = be.select(demo, runs=demo["run"].to_numpy()[:12].tolist(), topics=list("1234"))
    design = be.designs.pps_strata(known, budget=20, n_strata=5)
    sampled = be.reveal(known, design, be.draw(design, random_seed=1))
    scores = be.evaluate(sampled, "P@10", estimator="dyn")
    topics = [*scores["topic"].to_numpy(), "of another collection"]
    alike = xr.DataArray(np.full(5, 250.0), coords={"topic": topics})
    one_alone = alike.where(alike["topic"] == "3", 0.0)
    for traffic, means in (
        (alike, be.mean_over_topics(scores)),
        (one_alone, scores.sel(topic="3", drop=True)),
    ):
        names = ran("decide.md", "weighted", {"be": be, "sampled": sampled, "traffic": traffic})
        for name, variable in (("mean", "estimate"), ("error", "design_error")):
            found = names[name].transpose(*means[variable].dims)
            np.testing.assert_allclose(found, means[variable])


@pytest.fixture
def hidden(monkeypatch) -> dict:
    """A sample of a few runs and topics, and a sampler that makes few draws."""
    demo = be.simulate.demo_collection()
    known = be.select(demo, runs=demo["run"].to_numpy()[:6].tolist(), topics=list("1234"))
    design = be.designs.pps_strata(known, budget=40, n_strata=10)
    quick = {"draws": 250, "tune": 200, "chains": 2, "progressbar": False, "quiet": True}
    monkeypatch.setattr(pm, "sample", partial(pm.sample, **quick))
    sampled = be.reveal(known, design, be.draw(design, random_seed=1))
    return {"be": be, "pm": pm, "az": az, "sampled": sampled}


def test_a_prior_is_given_other_numbers_and_seen_in_scores(hidden, capsys):
    names = ran("pymc.md", "prior", hidden)
    assert {"standard_error", "lower"} <= set(capsys.readouterr().out.split())  # all columns
    assert names["model"]["fixed_prior"].get_value()[:, 1].tolist() == [-3.0, 4.0]
    assert (be.summarize(names["before"]).standard_error > 0.05).all()


def test_a_model_of_ones_own_is_scored_by_replicates(hidden):
    names = ran("pymc.md", "own", hidden)
    grade = names["sampled"]["judgments/grade"].to_numpy()
    filled = names["complete"]["judgments/grade"].transpose("replicate", "pair").to_numpy()
    asked = names["sampled"]["design/inclusion_probability"].to_numpy() > 0
    assert (np.isnan(filled) == ~asked).all() and not np.isnan(grade[asked]).all()
    given = ~np.isnan(grade)
    assert (filled[:, given] == grade[given]).all()
    assert set(np.unique(filled[:, asked & ~given])) == {0.0, 1.0}
    assert (be.summarize(names["post"]).standard_error > 0).all()
    mean = be.mean_over_topics(be.evaluate(names["sampled"], "P@10", estimator="dyn"))
    assert be.combine(mean, names["post"]).estimate.notnull().all()


@pytest.mark.slow  # half a minute, most of it to compile
def test_a_sampler_of_ones_own_gives_a_fit_that_is_scored_and_checked(hidden, capsys):
    small = be.models.relevance_model(hidden["sampled"])
    names = ran("pymc.md", "sampler", hidden | {"model": small})
    prior = be.inference.prior_fit(small, draws=200, random_seed=1)
    prior = be.posterior_scores(prior, hidden["sampled"], "P@10")
    before, after = (float(be.summarize(p).standard_error.mean()) for p in (prior, names["post"]))
    assert after < 0.5 * before
    ran("pymc.md", "checks", names)
    assert {"population_effect[log_rank]", "shift"} <= set(capsys.readouterr().out.split())
    plt.close("all")


def test_topics_in_groups_are_as_random_as_their_groups():
    made = be.simulate.urn_collection([0.05, 0.3], n_topics=12, prevalence=0.1, random_seed=1)
    turns = [f"{31 + number // 3}_{number % 3 + 1}" for number in range(12)]
    turn = dict(zip(made["topic"].to_numpy(), turns, strict=True))
    frames = [be.trec.qrels_frame(made), be.trec.runs_frame(made)]
    collection = be.read_collection(
        *(frame.assign(topic=frame["topic"].map(turn)) for frame in frames)
    )
    scores = be.evaluate(collection, "P@10", estimator="assumed")
    names = ran("decide.md", "grouped", {"be": be, "collection": collection, "scores": scores})
    assert set(names["groups"].values()) == {"31", "32", "33", "34"}
    for found in (names["mean"], names["pairs"]):
        np.testing.assert_allclose(found["degrees_of_freedom"], 3.0)
