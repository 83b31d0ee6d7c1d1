"""Repeated fits: one compilation stands for every data set of one shape."""

import numpy as np
import pymc as pm
import pytest
import xarray as xr

import bayeseval as be
from bayeseval.experiments.calibration_fits import (
    _name,
    _opened,
    _with_constants,
    _with_shared_arrays,
)


def normal_model(values, sd=0.5):
    with pm.Model(coords={"item": ["a", "b", "c"][: len(values)]}) as model:
        pm.Data("judged_score", np.asarray(values, dtype=float), dims="item")
        mean = pm.Normal("mean", np.float64(0), np.float64(1))
        pm.Normal("score", mean, np.float64(sd), dims="item")
    return model


def sampled_with(random_seed: int, **options) -> xr.DataTree:
    collection = be.simulate.urn_collection(
        [0.1, 0.2, 0.5],
        n_topics=2,
        n_documents=30,
        n_relevant=8,
        depth=15,
        random_seed=1,
        **options,
    )
    random = np.random.default_rng(random_seed)
    judgments = collection["judgments"].to_dataset(inherit=False)
    grade = random.integers(0, len(options.get("grade_proportions", [1])) + 1, 60)
    judgments = judgments.assign(grade=("pair", grade.astype("f4")))
    collection["judgments"] = xr.DataTree(judgments)
    design = be.designs.pps_strata(collection, budget=8, n_strata=2)
    return be.reveal(collection, design, be.draw(design, random_seed=random_seed))


def test_posteriors_are_those_of_each_data_set():
    fits = be.experiments.RepeatedFits(draws=1000, tune=300, chains=2)
    for values in ([0.0, 0.5, 1.0], [-3.0, -2.0, -2.5]):
        mean = fits(normal_model(values), random_seed=1)["posterior/mean"]
        precision = 1 + 3 / 0.25
        assert float(mean.mean()) == pytest.approx(sum(values) / 0.25 / precision, abs=0.03)
        assert float(mean.std()) == pytest.approx(precision**-0.5, rel=0.1)
    with pytest.raises(ValueError, match=r"is 0\.7 and was 0\.5; repeated fits may differ in arr"):
        fits(normal_model(values, sd=0.7), random_seed=1)
    with pytest.raises(ValueError, match="repeated fits need data of one shape"):
        fits(normal_model(values[:2]), random_seed=1)


@pytest.mark.parametrize(
    ("build", "options"),
    [
        (be.models.relevance_model, {}),
        (be.models.grade_model, {"grade_proportions": [0.5, 0.5]}),
    ],
)
def test_the_first_model_filled_with_the_data_of_another_is_that_other(build, options):
    first, other = (build(sampled_with(seed, **options)) for seed in (1, 2))
    opened = _with_shared_arrays(*_opened(first))
    _, constants = _opened(other)
    assert sum(constant.data.size > 1 for constant in constants) >= 4
    given = {_name(place): constant.data for place, constant in enumerate(constants)}
    given |= {variable.name: variable.get_value() for variable in other.data_vars}
    filled = opened.compile_logp(mode="FAST_COMPILE")
    changed = 0
    for variable in filled.f.get_shared():
        if variable.name in other.coords:  # the length of a dim
            assert variable.get_value() == len(other.coords[variable.name])
            continue
        changed += not np.array_equal(variable.get_value(), given[variable.name])
        variable.set_value(np.array(given[variable.name]))
    assert changed >= 4
    response = "grade" if "grade_value" in first.coords else "relevance"
    observed = pm.observe(other, {response: other[f"judged_{response}"].get_value()})
    expected = observed.compile_logp(mode="FAST_COMPILE")
    random = np.random.default_rng(3)
    for _ in range(3):
        start = observed.initial_point()
        point = {name: value + random.normal(size=value.shape) for name, value in start.items()}
        np.testing.assert_allclose(filled(point), expected(point), rtol=1e-10)


def test_data_of_the_model_come_with_the_fit():
    sampled = sampled_with(1)
    model = be.models.relevance_model(sampled)
    fitted = _with_constants(xr.DataTree(), model)
    for variable in model.data_vars:
        np.testing.assert_array_equal(fitted["constant_data"][variable.name], variable.get_value())
    run = fitted["constant_data"].to_dataset()["run"].to_numpy()
    assert run.tolist() == sampled["run"].to_numpy().tolist()
