import arviz as az
import numpy as np
import pytest
import xarray as xr

import bayeseval as be
from bayeseval.inference import verdict_text


def draws(**changes):
    random = np.random.default_rng(1)
    posterior = {"mean": random.normal(size=(4, 500)), "effect": random.normal(size=(4, 500, 3))}
    stats = {"diverging": np.zeros((4, 500), bool), "energy": random.normal(size=(4, 500))}
    for name, change in changes.items():
        group = posterior if name in posterior else stats
        group[name] = change(group[name])
    coords, dims = {"run": ["a", "b", "c"]}, {"effect": ["run"]}
    return az.from_dict({"posterior": posterior, "sample_stats": stats}, coords=coords, dims=dims)


def shifted_chain(values):
    values = values.copy()
    values[0, :, 1] += 1.0
    return values


def sticky(values):
    return np.cumsum(values, axis=1) / 20.0


def one_divergence(values):
    values = values.copy()
    values[2, 7] = True
    return values


def test_independent_draws_pass_every_check():
    assert be.verdict(draws()).passed.all()


@pytest.mark.parametrize(
    ("changes", "check", "where"),
    [
        ({"effect": shifted_chain}, "r_hat", "effect[b]"),
        ({"mean": sticky}, "ess_bulk", "mean"),
        ({"diverging": one_divergence}, "divergences", ""),
        ({"energy": sticky}, "bfmi", "chain"),
    ],
)
def test_each_check_finds_its_fault_and_says_where(changes, check, where):
    found = be.verdict(draws(**changes)).sel(check=check)
    assert not found.passed
    assert found.worst.item().startswith(where)


def test_values_agree_with_arviz():
    fitted = draws()
    found = be.verdict(fitted)
    summary = az.summary(fitted, fmt="xarray", round_to="none", kind="diagnostics")
    table = summary.to_dataset() if hasattr(summary, "to_dataset") else summary
    worst = min(float(values.sel(summary="ess_tail").min()) for values in table.data_vars.values())
    assert float(found.value.sel(check="ess_tail")) == pytest.approx(worst)


def test_text_shows_what_failed_and_what_is_allowed():
    text = verdict_text(be.verdict(draws(diverging=one_divergence)))
    assert text.startswith("divergences 1 (allowed: at most 0); r_hat 1.0")
    one = draws().map_over_datasets(lambda part: part.isel(chain=[0]) if part.dims else part)
    text = verdict_text(be.verdict(one))
    assert "; r_hat cannot be told (one chain, or too few draws); ess_bulk " in text


def test_a_verdict_on_judgments_takes_predicted_judgments_alone():
    with pytest.raises(ValueError, match="takes what predicted_judgments returns; be.verdict"):
        be.inference.judgments_verdict(xr.Dataset({"estimate": ("run", [0.5])}))
