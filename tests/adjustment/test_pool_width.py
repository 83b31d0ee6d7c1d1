"""Algorithm 3: sampled pools against `adjust_scores`, and errors worked out by hand."""

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import bayeseval as be
from bayeseval.adjustment import adjust_by_topics
from bayeseval.trec import qrels_frame, runs_frame
from benchmarks.pool_width import pool_width_errors, sampled_pools

WIDTHS = [2, 3]


@pytest.fixture(scope="module")
def collection():
    """Nine runs of three teams, the last three of which did not contribute."""
    urn = be.simulate.urn_collection(
        np.linspace(0.05, 0.5, 9), n_topics=4, prevalence=0.1, random_seed=3
    )
    runs = urn.run.values.tolist()
    table = pd.DataFrame(
        {"run": runs, "contributed": [True] * 6 + [False] * 3, "team": list("uvwuvwuvw")}
    )
    return be.read_collection(qrels_frame(urn), runs_frame(urn), run_table=table)


def pool_collection(collection, members, run, pool_depth):
    """The same runs, with the judgments of a pool of `members` alone."""
    ranking = collection["rankings/ranking"].to_numpy()
    top = ranking[np.isin(collection.run.values, members)][:, :, :pool_depth]
    grade = np.full(collection.sizes["pair"], np.nan)
    known = np.unique(top[top >= 0])
    grade[known] = np.nan_to_num(collection["judgments/grade"].to_numpy()[known])
    judged = ~np.isnan(grade)
    topic = collection.topic.values[collection.pair_topic.values]
    rows = pd.DataFrame(
        {"topic": topic, "document": collection.document.values, "grade": grade}
    ).loc[judged]
    kept = [*members, run]
    runs = runs_frame(collection)
    table = pd.DataFrame({"run": kept, "contributed": [name != run for name in kept]})
    return be.read_collection(
        rows.astype({"grade": int}), runs[runs["run"].isin(kept)], run_table=table
    )


@pytest.mark.parametrize("source", ["other", "contributed"])
def test_a_sampled_pool_scores_as_adjust_scores_does(collection, source):
    pools = sampled_pools(
        collection, measure="P@5", pool_widths=WIDTHS, pool_depth=5, unpooled_from=source,
        n_samples=3, random_seed=4,
    )  # fmt: skip
    assert pools.attrs["measure"] == "P@5"
    random = np.random.default_rng(4)
    contributed = collection.contributed.values
    others = np.flatnonzero(contributed if source == "contributed" else ~contributed)
    for width in WIDTHS:
        for sample in range(3):
            at = {"pool_width": width, "sample": sample}
            members = random.choice(np.flatnonzero(contributed), size=width, replace=False)
            run = int(random.choice(np.setdiff1d(others, members)))
            names = collection.run.values[members].tolist()
            assert pools.run.sel(at).item() == collection.run.values[run]
            team = collection.team.values
            assert pools.teammate.sel(at).item() == (team[run] in team[members])
            part = pool_collection(collection, names, str(collection.run.values[run]), 5)
            for base in ("nonrelevant", "condensed"):
                result = be.adjust_scores(part, measures="P@5", pool_depth=5, base=base)
                place = at | {"base": base}
                assert pools.unpooled.sel(place).mean().item() == pytest.approx(
                    result.unadjusted.item(), abs=1e-12
                )
                assert pools.left_out_adjustment.sel(place).item() == pytest.approx(
                    result.adjustment.item(), abs=1e-12
                )
            truth = be.evaluate(collection, "P@5", estimator="assumed").estimate
            assert pools.true.sel(at).values == pytest.approx(
                truth.sel(measure="P@5", run=collection.run.values[run]).values, abs=1e-12
            )


def toy_pools():
    dims = ("pool_width", "sample", "topic")
    random = np.random.default_rng(8)
    true = xr.DataArray(random.uniform(size=(1, 30, 10)), dims=dims, coords={"pool_width": [2]})
    unpooled = (true * random.uniform(0.2, 1, size=true.shape)).expand_dims(base=["nonrelevant"])
    left_out = xr.zeros_like(unpooled.isel(topic=0)) + 0.05
    return xr.Dataset({"true": true, "unpooled": unpooled, "left_out_adjustment": left_out})


def test_the_errors_are_those_of_adjust_by_topics():
    pools = toy_pools().isel(sample=[0])
    errors = pool_width_errors(pools, n_common=[4], n_samples=1, random_seed=6)
    keys = np.random.default_rng(6).random((1, 1, 1, 10))
    common = xr.DataArray(keys[0, 0, 0].argsort().argsort() < 4, dims="topic")
    result = adjust_by_topics(pools["true"], pools["unpooled"], common, n_boot=0)
    truth = pools["true"].mean("topic")
    assert errors.adjusted.item() == pytest.approx(abs(truth - result.adjusted).item())
    mixed = xr.where(common, pools["true"], pools["unpooled"]).mean("topic")
    assert errors.mixed.item() == pytest.approx(abs(truth - mixed).item())
    assert errors.unadjusted.item() == pytest.approx((truth - result.unadjusted).item())
    assert errors.left_out.item() == pytest.approx(abs(truth - result.unadjusted - 0.05).item())
    bounds = result.interval.squeeze().values
    assert errors.coverage.item() == float(bounds[0] <= truth.item() <= bounds[1])


def test_the_adjusted_error_falls_as_the_sampling_of_topics_says_and_the_mixed_one_linearly():
    errors = pool_width_errors(
        toy_pools(), n_common=[2, 5, 10], n_samples=2000, random_seed=5
    ).squeeze()
    adjusted, mixed = errors.adjusted.values, errors.mixed.values
    left = np.sqrt(np.array([8 / 20, 5 / 50]))
    assert adjusted[1] / adjusted[0] == pytest.approx(left[1] / left[0], rel=0.03)
    assert mixed[:2] == pytest.approx(errors.unadjusted.item() * np.array([0.8, 0.5]), rel=0.01)
    assert (adjusted[2], mixed[2]) == pytest.approx((0, 0), abs=1e-12)
    assert errors.condition_1.values == pytest.approx(1, abs=1e-12)  # unjudged: never too high
    assert 0.85 < errors.coverage.values[1] < 0.93
