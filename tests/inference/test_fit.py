import arviz as az
import numpy as np
import pymc as pm
import pytest
import xarray as xr

import bayeseval as be
from bayeseval.inference import sampling
from bayeseval.models.identity import keep_parts


@pytest.fixture(scope="module")
def model() -> pm.Model:
    """A normal mean with known variance: its posterior is Normal(.28, 1/sqrt(101))."""
    with pm.Model(coords={"document": [1, 2]}) as model:
        pm.Data("judged_score", [0.3, 0.266], dims="document")
        mean = pm.Normal("mean", 0.0, 1.0)
        pm.Normal("score", mean, np.sqrt(0.02), dims="document")
    return model


@pytest.fixture(scope="module")
def fitted(model) -> xr.DataTree:
    return be.fit(model, random_seed=1)


def test_draws_follow_the_exact_posterior(fitted):
    draws = fitted["posterior/mean"]
    assert dict(draws.sizes) == {"chain": 4, "draw": 1000}
    exact_mean, exact_sd = 100 * 0.283 / 101, 1 / np.sqrt(101)
    size = float(az.ess(draws).item())
    assert abs(float(draws.mean()) - exact_mean) < 4 * exact_sd / np.sqrt(size)
    assert abs(np.log(float(draws.std()) / exact_sd)) < 4 / np.sqrt(size)


def test_the_verdict_passes_and_the_fit_says_how_it_was_made(fitted):
    assert be.verdict(fitted).passed.all()
    facts = {"sampler": "nutpie", "seed": 1, "tune": 1000}
    assert {name: fitted.attrs[name] for name in facts} == facts
    assert "judged_score" in fitted["constant_data"]


def test_the_same_seed_gives_the_same_draws_and_the_model_is_left_as_it_was(model, fitted):
    again = be.fit(model, random_seed=1)
    np.testing.assert_array_equal(again["posterior/mean"], fitted["posterior/mean"])
    assert [variable.name for variable in model.free_RVs] == ["mean", "score"]


def test_the_draws_do_not_depend_on_how_many_chains_run_at_once(model, fitted):
    one = be.fit(model, random_seed=1, sample_kwargs={"cores": 1})
    np.testing.assert_array_equal(one["posterior/mean"], fitted["posterior/mean"])


def test_as_many_chains_run_at_once_as_there_are_processors(monkeypatch, model, fitted):
    asked = []
    monkeypatch.setattr(sampling, "usable_processors", lambda: 3)
    monkeypatch.setattr(pm, "sample", lambda **options: asked.append(options["cores"]) or fitted)
    be.fit(model, random_seed=1)
    be.fit(model, random_seed=1, chains=2)
    be.fit(model, random_seed=1, sample_kwargs={"cores": 1})
    assert asked == [3, 2, 1]


def test_values_given_are_observed_instead_of_the_model_s(model):
    fitted = be.fit(model, random_seed=1, observed={"score": np.array([-1.0, -1.0])})
    assert float(fitted["posterior/mean"].mean()) == pytest.approx(-100 / 101, abs=0.02)


def test_a_fit_is_reopened_as_it_was_saved(fitted, tmp_path):
    be.save_fit(fitted, tmp_path / "fit.nc")
    again = be.open_fit(tmp_path / "fit.nc")
    for group in ("posterior", "constant_data", "observed_data"):
        xr.testing.assert_equal(again[group].to_dataset(), fitted[group].to_dataset())
    xr.testing.assert_equal(be.verdict(again), be.verdict(fitted))
    assert [path.name for path in tmp_path.iterdir()] == ["fit.nc"]


def test_a_discrete_parameter_is_refused_before_metropolis_takes_it():
    with pm.Model() as model:
        hidden = pm.Bernoulli("hidden", np.float64(0.5))
        pm.Normal("score", hidden, 1.0, observed=[0.3])
    with pytest.raises(ValueError, match="variable 'hidden' is discrete and not observed"):
        be.fit(model, random_seed=1)


def test_draws_of_another_sampler_are_refused(monkeypatch, model, fitted):
    draws = xr.DataTree.from_dict(
        {"posterior": fitted["posterior"].to_dataset(), "sample_stats": xr.Dataset({"accept": 1.0})}
    )
    monkeypatch.setattr(pm, "sample", lambda **_: draws)
    with pytest.raises(RuntimeError, match="not the no-U-turn sampler"):
        be.fit(model, random_seed=1)


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda mean: mean * np.nan, "draws of 'mean' are not finite"),
        (lambda mean: mean * 0.0, "a value of 'mean' never moved"),
        (lambda mean: mean + 5.0 * mean.chain, "its chains disagree on mean"),
    ],
)
def test_broken_draws_are_refused(monkeypatch, model, fitted, damage, message):
    posterior = fitted["posterior"].to_dataset()
    broken = xr.DataTree.from_dict(
        {
            "posterior": posterior.assign(mean=damage(posterior["mean"])),
            "sample_stats": fitted["sample_stats"].to_dataset(),
        }
    )
    monkeypatch.setattr(pm, "sample", lambda **_: broken)
    with pytest.raises(RuntimeError, match=message):
        be.fit(model, random_seed=1)


def test_doubtful_draws_come_with_a_warning(monkeypatch, model, fitted):
    few = fitted.isel(draw=slice(0, 50))
    monkeypatch.setattr(pm, "sample", lambda **_: few)
    with pytest.warns(UserWarning, match=r"ess_bulk \d+ of mean \(allowed: at least 400\)"):
        be.fit(model, random_seed=1)


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        (
            {"random_seed": 1, "sample_kwargs": {"nuts_sampler": "metropolis"}},
            "samplers: nutpie, pymc",
        ),
        ({"random_seed": 1, "draws": 0}, "draws is 0; allowed: a whole number, 1 or more"),
        ({"random_seed": 1, "chains": 2.5}, "chains is 2.5; allowed: a whole number"),
        ({"random_seed": 1, "tune": -1}, "tune is -1; allowed: a whole number, 0 or more"),
        (
            {"random_seed": 1, "sample_kwargs": {"cores": 0}},
            "cores is 0; allowed: a whole number, 1 or more",
        ),
        ({"random_seed": -1}, "allowed: a whole number, 0 or more"),
        (
            {
                "random_seed": 1,
                "approximation": "laplace",
                "sample_kwargs": {"nuts": {"target_accept": 0.9}},
            },
            "sample_kwargs are of a sampler",
        ),
        (
            {"random_seed": 1, "sample_kwargs": {"nuts": {"target_acept": 0.9}}},
            "of sampler 'nutpie': .*acept",
        ),
        ({"random_seed": 1, "observed": {}}, "nothing in the model is observed"),
        ({"random_seed": 1, "observed": {"rel": 1.0}}, "no such variable; what .*: score"),
        ({"random_seed": 1, "observed": {"score": [1.0]}}, r"shape \(1,\); the variable has"),
        ({"random_seed": 1, "observed": {"score": [1.0, np.nan]}}, "must be finite numbers"),
    ],
)
def test_requests_that_cannot_be_met_are_refused(model, request_, message):
    with pytest.raises(ValueError, match=message):
        be.fit(model, **request_)


def test_what_is_no_model_is_refused():
    with pytest.raises(TypeError, match="model is a DataTree; be.fit takes a pymc.Model"):
        be.fit(xr.DataTree(), random_seed=1)


def test_a_file_that_is_no_fit_is_refused(tmp_path):
    xr.Dataset({"a": 1}).to_netcdf(tmp_path / "other.nc", engine="h5netcdf")
    with pytest.raises(ValueError, match="holds no posterior draws"):
        be.open_fit(tmp_path / "other.nc")
    with pytest.raises(ValueError, match="does not exist"):
        be.open_fit(tmp_path / "none.nc")


def test_a_fit_says_what_was_added_to_its_model_and_taken_away(monkeypatch, fitted):
    with pm.Model() as built:
        mean = pm.Normal("mean", 0.0, 1.0)
        pm.Normal("score", mean + pm.Normal("shift", 0.0, 1.0), 0.1)
        keep_parts()
        pm.Potential("pull", -(mean**2))
    changed = pm.do(built, {"shift": 0.0})
    monkeypatch.setattr(pm, "sample", lambda **options: fitted.copy())
    found = be.fit(changed, observed={"score": 0.3}, random_seed=1)
    assert (found.attrs["added"], found.attrs["missing"]) == ("pull", "shift")
