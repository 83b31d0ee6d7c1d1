import numpy as np
import pytest
import xarray as xr

from bayeseval.inference import prior_overlap


def drawn(prior: dict, posterior: dict, dims: tuple[str, ...] = (), **coords) -> xr.DataTree:
    groups = {"prior": prior, "posterior": posterior}
    return xr.DataTree.from_dict(
        {
            group: xr.Dataset(
                {name: (("chain", "draw", *dims), draws[None]) for name, draws in part.items()},
                coords=coords,
            )
            for group, part in groups.items()
        }
    )


def test_entries_of_few_are_told_by_label_and_those_of_runs_and_topics_left_out():
    random = np.random.default_rng(1)
    effect = ("population_effect", "predictor", ["intercept", "log_rank"])
    for name, dim, labels in (effect, ("topic_level", "topic", ["1", "2"])):
        before, after = random.normal(size=(2, 500, 2))
        found = prior_overlap(drawn({name: before}, {name: after}, (dim,), **{dim: labels}))
        told = [f"{name}[{label}]" for label in labels] if dim == "predictor" else []
        assert found["variable"].to_numpy().tolist() == told
    many = {"label_rate": random.normal(size=(500, 9))}
    assert not prior_overlap(drawn(many, many, ("step",)))["variable"].size


def test_a_posterior_where_the_prior_expects_nothing_is_shifted_and_only_that_tells():
    random = np.random.default_rng(1)
    prior = {name: random.normal(-2.0, 2.0, 4000) for name in ("near", "far")}
    posterior = {"near": random.normal(-1.0, 0.5, 4000), "far": random.normal(-8.0, 0.5, 4000)}
    found = prior_overlap(drawn(prior, posterior))
    near, far = (found.sel(variable=name) for name in ("near", "far"))
    assert float(near.contraction) == pytest.approx(float(far.contraction), abs=0.01)
    assert float(near["shift"]) == pytest.approx(0.5, abs=0.05)
    assert float(far["shift"]) == pytest.approx(-3.0, abs=0.1)


def test_a_prior_without_spread_has_no_shift():
    found = prior_overlap(drawn({"mean": np.ones(100)}, {"mean": np.ones(100)}))
    assert np.isnan(found["shift"]).all() and np.isnan(found["contraction"]).all()
