"""The model of true scores: its density spelled out, and what it refuses."""

import numpy as np
import pymc as pm
import pytest
import xarray as xr
from scipy.special import expit, logit
from scipy.stats import multivariate_normal, norm

import bayeseval as be
from bayeseval.models.score.independent import Independent
from tests.small import small_collection

DIMS = ("measure", "run")
RUNS = ["old", "older", "new"]
COORDS = {"measure": ["P@10"], "run": RUNS, "contributed": ("run", [True, True, False])}
DESIGN = np.array([0.50, 0.42, 0.30])
ERROR = np.array([0.03, 0.02, 0.04])
KNOWN = {
    "contributed": {"near_ratio": 1.5, "common_ratio": 0.4, "far_sd": 0.15, "far_weight": 0.05},
    "new": {"near_ratio": 2.0, "common_ratio": 0.4, "far_sd": 0.20, "far_weight": 0.30},
}
BESIDE = {"contributed": 0.3, "new": 0.7}
KNOWN = {group: known | {"design_ratio": BESIDE[group]} for group, known in KNOWN.items()}


def means(**attrs) -> xr.Dataset:
    half = norm.ppf(0.95) * ERROR
    return xr.Dataset(
        {
            "estimate": (DIMS, DESIGN[None]),
            "standard_error": (DIMS, ERROR[None]),
            "degrees_of_freedom": (DIMS, np.full((1, 3), np.inf)),
            "interval": ((*DIMS, "ci_bound"), np.stack([DESIGN - half, DESIGN + half], -1)[None]),
        },
        coords=COORDS | {"ci_bound": ["lower", "upper"]},
        attrs={"population": "sample", "ci_prob": 0.9} | attrs,
    )


def draws() -> xr.Dataset:
    random = np.random.default_rng(2)
    shared = random.normal(0, 0.004, (2, 500, 1, 1))
    values = np.array([0.48, 0.43, 0.35]) + shared + random.normal(0, 0.01, (2, 500, 1, 3))
    return xr.Dataset({"estimate": (("chain", "draw", *DIMS), values)}, coords=COORDS)


def design_covariance() -> xr.DataArray:
    matrix = np.outer(ERROR, ERROR) * (0.6 + 0.4 * np.eye(3))
    labels = {"measure": ["P@10"], "run": RUNS, "run_other": RUNS}
    return xr.DataArray(matrix[None], coords=labels, dims=(*DIMS, "run_other"))


def test_the_log_density_is_that_of_the_formula():
    post, covariance = draws(), design_covariance()
    model = be.models.score_model(means(), post, covariance=covariance, constants=KNOWN)
    random = np.random.default_rng(4)
    point = {
        "log_near_ratio": random.normal(size=2) / 2,
        "logit_far_weight": random.normal(size=2),
        "common": np.array(random.normal()),
        "model_deviation": random.normal(size=3),
        "discrepancy": random.normal(0, 0.05, 3),
        "estimate": DESIGN,
    }
    with model:
        found = model.compile_logp(mode="FAST_COMPILE")(point)
    of_run = np.array([0, 0, 1])  # contributed, contributed, new
    near, beside, far, weight, common = (
        np.array([KNOWN[name][field] for name in ("contributed", "new")])[of_run]
        for field in ("near_ratio", "design_ratio", "far_sd", "far_weight", "common_ratio")
    )
    flat = post.estimate.to_numpy().reshape(-1, 3)
    mean, matrix = flat.mean(axis=0), np.cov(flat, rowvar=False)
    variance = np.diagonal(matrix)
    says = Independent.of(mean[None], variance[None], DESIGN[None], ERROR[None] ** 2)
    gain, sd = says.gain[0], np.sqrt(variance)
    values, vectors = np.linalg.eigh(matrix * np.outer(np.sqrt(gain), np.sqrt(gain)))
    root = vectors @ np.diag(np.sqrt(values)) @ vectors.T
    near_sd = gain * np.hypot(sd * near, ERROR * beside) * np.exp(point["log_near_ratio"][of_run])
    share = expit(logit(weight) + point["logit_far_weight"][of_run])
    off = point["discrepancy"]
    theta = says.mean[0] + root @ point["model_deviation"] + gain * sd * common * point["common"]
    wanted = norm.logpdf(point["log_near_ratio"], 0, 0.5).sum()
    wanted += norm.logpdf(point["logit_far_weight"], 0, 1).sum()
    wanted += norm.logpdf(point["common"]) + norm.logpdf(point["model_deviation"]).sum()
    mixture = (1 - share) * norm.pdf(off, 0, near_sd) + share * norm.pdf(off, 0, gain * far)
    wanted += np.log(mixture).sum()
    seen = covariance.to_numpy()[0]
    wanted += multivariate_normal.logpdf(DESIGN, theta + off, seen)
    assert found == pytest.approx(wanted, rel=1e-4)


def test_where_the_model_makes_no_errors_its_posterior_is_the_answer():
    """The exact posterior of the score given the estimate is then a product of two normals."""
    right = {"near_ratio": 0.0, "design_ratio": 0.0, "common_ratio": 0.0}
    constants = {name: right | {"far_weight": 1e-12, "far_sd": 1e-9} for name in KNOWN}
    model = be.models.score_model(means(), draws(), constants=constants)
    flat = draws().estimate.to_numpy().reshape(-1, 3)
    mean, variance = flat.mean(axis=0), flat.var(axis=0, ddof=1)
    says = Independent.of(mean[None], variance[None], DESIGN[None], ERROR[None] ** 2)
    weight = np.stack([1 / says.variance[0], 1 / ERROR**2])
    both = np.average(np.stack([says.mean[0], DESIGN]), axis=0, weights=weight)
    np.testing.assert_allclose(both, mean, rtol=1e-9)
    with model:
        prior = pm.sample_prior_predictive(
            4000, random_seed=1, var_names=["score"], compile_kwargs={"mode": "FAST_COMPILE"}
        )
    score = prior["prior"]["score"]
    np.testing.assert_allclose(score.mean(("chain", "draw")), says.mean[0], atol=0.001)
    np.testing.assert_allclose(score.var(("chain", "draw")), says.variance[0], rtol=0.1)


@pytest.mark.parametrize(
    ("mean", "post", "options", "said"),
    [
        (means(population="topics"), draws(), {}, "of these topics"),
        (means(), draws().isel(run=[0]), {}, "run 'new', which what"),
        (None, draws(), {}, "mean must be a Dataset"),
        (means(), draws().mean(("chain", "draw")), {}, "must be posterior draws"),
        (means(), draws(), {"priors": {"commom": (0, 1)}}, "commom"),
        (means(), draws(), {"constants": {"new": {"far": 1}}}, "far"),
        (means(), draws(), {"groups": {"old": "new"}}, "no group for run 'older'"),
        (means(), be.with_model_errors(draws()), {}, "own errors already"),
        (
            means(estimator="dyn"),
            draws(),
            {"covariance": xr.DataArray(attrs={"estimator": "stat"})},
            "the covariance is of estimator 'stat'",
        ),
    ],
)
def test_what_cannot_be_modelled_is_refused(mean, post, options, said):
    with pytest.raises(ValueError, match=said):
        be.models.score_model(mean, post, **options)


def test_a_fit_scores_no_runs_and_has_no_judgments_to_leave_out():
    model = be.models.score_model(means(), draws(), constants=KNOWN)
    fitted = be.inference.prior_fit(model, draws=5, random_seed=1)
    fitted["observed_data"] = xr.DataTree(xr.Dataset())
    with pytest.raises(ValueError, match="score_model has one likelihood of the estimates of all"):
        be.inference.log_likelihood(fitted, model)
    with pytest.raises(ValueError, match="not of a model that has scores"):
        be.posterior_scores(fitted, small_collection(), "P@10")
    with pytest.raises(ValueError, match="score_model predicts no single documents"):
        be.inference.predicted_judgments(fitted, small_collection())


def test_two_measures_are_refused():
    two = xr.concat([means(), means().assign_coords(measure=["AP"])], dim="measure")
    post = xr.concat([draws(), draws().assign_coords(measure=["AP"])], dim="measure")
    with pytest.raises(ValueError, match="of one measure, not 2"):
        be.models.score_model(two, post)
