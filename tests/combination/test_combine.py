import numpy as np
import pandas as pd
import pytest
import scipy.stats
import xarray as xr

import bayeseval as be
from bayeseval.combination.sources import Independent

RUNS = ["old", "new", "odd"]
CONSTANTS = {
    "contributed": {"near_ratio": 1.1, "far_sd": 0.15, "far_weight": 0.05},
    "new": {"near_ratio": 2.2, "far_sd": 0.15, "far_weight": 0.3},
}
CONSTANTS = {group: known | {"design_ratio": 0.0} for group, known in CONSTANTS.items()}
COORDS = {"measure": ["P@10"], "run": RUNS, "contributed": ("run", [True, False, False])}
DIMS = ("measure", "run")


def means(estimate=(0.5, 0.4, 0.8), error=(0.03, 0.03, 0.03), freedom=np.inf, **attrs):
    estimate, error = np.array([estimate]), np.array([error])
    half = scipy.stats.t(freedom).ppf(0.95) * error
    bounds = np.stack([estimate - half, estimate + half], axis=-1)
    return xr.Dataset(
        {
            "estimate": (DIMS, estimate),
            "standard_error": (DIMS, error),
            "degrees_of_freedom": (DIMS, np.full(error.shape, freedom)),
            "interval": ((*DIMS, "ci_bound"), bounds),
        },
        coords=COORDS | {"ci_bound": ["lower", "upper"]},
        attrs={"population": "sample", "ci_prob": 0.9, "sample": "s", "fingerprint": "f"} | attrs,
    )


def draws(centre=(0.48, 0.42, 0.5), spread=0.01, **attrs):
    random = np.random.default_rng(1)
    shared = random.normal(0, 0.005, (2, 2000, 1, 1))
    values = np.array(centre) + shared + random.normal(0, spread, (2, 2000, 1, 3))
    return xr.Dataset(
        {"estimate": (("chain", "draw", *DIMS), values)},
        coords=COORDS,
        attrs={"population": "sample", "sample": "s", "fingerprint": "f"} | attrs,
    )


def combined(mean, post, **options):
    """Combination with constants that do not change with the package's."""
    constants = {k: v | options.get("constants", {}).get(k, {}) for k, v in CONSTANTS.items()}
    return be.combine(mean, post, **options | {"constants": constants})


def moments(post):
    """Mean and variance of the draws."""
    return post.estimate.mean(("chain", "draw")), post.estimate.var(("chain", "draw"), ddof=1)


def test_without_far_runs_the_estimate_follows_from_the_errors_of_design_and_model():
    """d - m is the model's own error and what the design has beyond the posterior's error."""
    never = {"far_weight": 0.0, "near_ratio": 0.9, "design_ratio": 0.4}
    found = be.combine(means(), draws(), constants={"contributed": never, "new": never})
    m, c = moments(draws())
    own, noise = 0.9**2 * c + 0.4**2 * 0.03**2, 0.03**2 - c
    share = own / (own + noise)
    expected = m + share * (means().estimate - m)
    np.testing.assert_allclose(found.estimate, expected, rtol=1e-12)
    np.testing.assert_allclose(found.standard_error**2, c + share * noise, rtol=1e-9)
    np.testing.assert_allclose(found.model_weight, 1 - share, rtol=1e-9)
    length = found.interval.diff("ci_bound").isel(ci_bound=0)
    np.testing.assert_allclose(length, 2 * 1.644854 * found.standard_error, rtol=1e-5)


def test_where_the_design_hardly_knows_a_run_its_error_says_nothing_of_the_models():
    """The share of the design's error is no more than what far runs are off by."""
    beside = {"far_weight": 0.0, "near_ratio": 0.9, "design_ratio": 0.5, "far_sd": 0.02}
    beside = {"contributed": beside, "new": beside}
    error = np.array([0.03, 0.03, 5.0])
    found = be.combine(means(error=tuple(error)), draws(), constants=beside)
    m, c = moments(draws())
    own = 0.9**2 * c + np.minimum(0.5 * error, 0.02) ** 2
    noise = error**2 - c
    np.testing.assert_allclose(found.model_weight, 1 - own / (own + noise), rtol=1e-9)
    assert found.interval.sel(run="odd").diff("ci_bound").item() < 0.1


def test_where_the_model_makes_no_errors_its_posterior_is_the_answer():
    """No judgment counts twice: the design's estimate adds nothing to what has seen it."""
    right = {"near_ratio": 0.0, "design_ratio": 0.0, "far_weight": 0.0}
    found = be.combine(means(), draws(), constants={"contributed": right, "new": right})
    m, c = moments(draws())
    np.testing.assert_allclose(found.estimate, m, rtol=1e-9)
    np.testing.assert_allclose(found.standard_error**2, c, rtol=1e-9)


def test_a_design_that_knows_more_than_the_model_is_the_answer():
    found = combined(means(error=(0.003, 0.003, 0.003)), draws())
    np.testing.assert_allclose(found.estimate, means().estimate, atol=1e-3)
    np.testing.assert_allclose(found.standard_error, 0.003, rtol=0.05)


def test_errors_of_a_posterior_and_of_an_unbiased_estimate_go_together_as_assumed():
    """Normal scores, and two estimates of which the posterior has seen both and d only one."""
    random = np.random.default_rng(3)
    score = random.normal(0.0, 0.05, 200_000)
    first, second = (score + random.normal(0, sd, score.size) for sd in (0.03, 0.04))
    variance = 1 / (0.05**-2 + 0.03**-2 + 0.04**-2)
    posterior = variance * (first / 0.03**2 + second / 0.04**2)
    product = np.mean((posterior - score) * (first - score))
    assert product == pytest.approx(variance, rel=0.02)
    ones = np.ones(score.shape)
    says = Independent.of(posterior, variance * ones, first, 0.03**2 * ones)
    assert abs(np.mean((says.mean - score) * (first - score))) < 0.02 * variance
    assert np.mean((says.mean - score) ** 2) == pytest.approx(says.variance[0], rel=0.02)


def test_a_run_unlike_the_model_keeps_its_design_estimate():
    found = combined(means(), draws()).sel(measure="P@10")
    assert found.unlike_model.sel(run="odd") > 0.99
    assert abs(found.estimate.sel(run="odd") - 0.8) < 0.02
    assert found.unlike_model.sel(run="old") < 0.1
    length = found.interval.diff("ci_bound").isel(ci_bound=0)
    assert length.sel(run="old") < 0.75 * 2 * 1.644854 * 0.03


def test_what_the_design_knows_of_one_run_depends_little_on_the_others():
    """A run known well among two of which the design knows next to nothing."""
    post = draws(spread=0.008)
    alone, beside = (
        combined(means(error=(0.01, error, error)), post).isel(run=0) for error in (0.01, 0.15)
    )
    length = [float(part.interval.diff("ci_bound").item()) for part in (alone, beside)]
    assert length[1] < 1.7 * length[0] < 1.8 * 2 * 1.644854 * 0.01


def test_a_poorly_known_variance_counts_for_less():
    sure, unsure = (combined(means(freedom=f), draws()).sel(run="old") for f in (np.inf, 4.0))
    assert unsure.model_weight > sure.model_weight
    assert unsure.standard_error > sure.standard_error


def test_a_design_variance_of_zero_is_no_certainty_while_the_model_has_doubts():
    found = combined(means(error=(0.0, 0.03, 0.03)), draws()).sel(run="old")
    assert found.standard_error > 0.005
    assert 0.48 < found.estimate < 0.5


def test_complete_judgments_are_returned_as_they_are():
    exact = means(error=(0.0, 0.0, 0.0))
    post = draws().assign(estimate=xr.zeros_like(draws().estimate) + exact.estimate)
    found = be.combine(exact, post)
    np.testing.assert_allclose(found.estimate, exact.estimate, atol=1e-12)
    np.testing.assert_allclose(found.standard_error, 0.0, atol=1e-12)


def test_runs_are_unlike_a_model_far_above_the_design_where_scores_are_sums():
    """How far a model may be off is in units of the largest score, by whichever says more."""
    mean = means(estimate=(0.0, 0.05, 0.0), error=(0.1, 0.1, 0.1))
    mean = mean.assign_coords(measure=["DCG@10"])
    post = draws(centre=(2.0, 2.0, 2.0)).assign_coords(measure=["DCG@10"])
    found = combined(mean, post)
    assert (found.unlike_model > 0.9).all()
    assert (abs(found.estimate - mean.estimate) < 0.5).all()


@pytest.mark.parametrize("known", [0.5, 8.9 / 13])  # the mean of many is not the second itself
def test_a_run_that_is_known_exactly_stays_so_beside_others(known):
    mean = means(estimate=(0.5, known, 0.8), error=(0.03, 0.0, 0.03))
    post = draws()
    post["estimate"][..., 1] = known
    one = combined(mean, post).isel(run=1)
    assert one.estimate == known and one.standard_error == 0
    assert (one.interval == known).all()


@pytest.mark.parametrize("centre", [0.45, 0.2])
def test_the_interval_holds_its_estimate_beside_a_model_without_doubt(centre):
    post = draws(spread=0.0)
    post["estimate"][...] = centre
    doubt = {"near_ratio": 0.0, "far_sd": 0.001}
    constants = {"contributed": doubt, "new": doubt}
    found = combined(means(), post, constants=constants)
    low, high = (found.interval.sel(ci_bound=name) for name in ("lower", "upper"))
    assert ((low <= found.estimate) & (found.estimate <= high)).all()


def test_covariance_makes_differences_of_combined_scores():
    matrix = np.array([[[9.0, 6.0, 0.0], [6.0, 9.0, 0.0], [0.0, 0.0, 9.0]]]) * 1e-4
    covariance = xr.DataArray(
        matrix,
        dims=(*DIMS, "run_other"),
        coords={"measure": ["P@10"], "run": RUNS, "run_other": RUNS},
    )
    found = combined(means(), draws(), covariance=covariance)
    whole = found.covariance.sel(measure="P@10").to_numpy()
    np.testing.assert_allclose(np.diagonal(whole), found.standard_error[0] ** 2, rtol=1e-9)
    assert np.linalg.eigvalsh(whole).min() > 0
    assert whole[0, 1] > 0
    pairs = be.rankings.compare_draws(found, reference="old")
    row = pairs.isel(comparison=0).squeeze()
    first, second = str(row.run_a.item()), str(row.run_b.item())
    own = {name: found.standard_error.sel(run=name).item() for name in (first, second)}
    variance = sum(value**2 for value in own.values()) - 2 * whole[0, RUNS.index(first)]
    assert row.standard_error.item() == pytest.approx(np.sqrt(variance), rel=1e-9)
    ranks = be.rankings.rank_probabilities(found)
    assert ranks.expected_rank.sel(run="odd") < 1.1


@pytest.mark.parametrize("near_ratio", [0.5, 2.0])
def test_of_two_runs_that_are_one_and_the_same_the_difference_is_known(near_ratio):
    """However large the model's own errors are, they are those of one list."""
    matrix = np.array([[[9.0, 0.0, 0.0], [0.0, 9.0, 9.0], [0.0, 9.0, 9.0]]]) * 1e-4
    coords = {"measure": ["P@10"], "run": RUNS, "run_other": RUNS}
    covariance = xr.DataArray(matrix, dims=(*DIMS, "run_other"), coords=coords)
    post = draws()
    post["estimate"][..., 2] = post["estimate"][..., 1]
    errors = {"near_ratio": near_ratio}
    constants = {"contributed": errors, "new": errors}
    design = means(estimate=[0.5, 0.45, 0.45], error=[0.03] * 3)
    found = combined(design, post, covariance=covariance, constants=constants)
    whole = found.covariance.sel(measure="P@10").to_numpy()
    assert whole[1, 1] + whole[2, 2] - 2.0 * whole[1, 2] < 1e-6 * whole[1, 1]
    assert whole[0, 1] < 0.9 * whole[1, 1]


def test_where_the_model_makes_no_errors_the_covariance_is_that_of_its_posterior():
    """Whatever the design's covariance is: the estimates are the model's means."""
    matrix = 0.03**2 * (0.2 + 0.8 * np.eye(3))[None]
    labels = {"measure": ["P@10"], "run": RUNS, "run_other": RUNS}
    covariance = xr.DataArray(matrix, dims=(*DIMS, "run_other"), coords=labels)
    right = {"near_ratio": 0.0, "design_ratio": 0.0, "far_weight": 0.0}
    found = be.combine(
        means(), draws(), covariance=covariance, constants={"contributed": right, "new": right}
    )
    values = draws().estimate.squeeze("measure").stack(sample=("chain", "draw"))
    expected = np.cov(values.transpose("run", "sample").to_numpy())
    assert expected[0, 1] > 0.1 * expected[0, 0]
    np.testing.assert_allclose(found.covariance[0], expected, rtol=0.01)


def test_topics_add_the_variance_that_the_posterior_expects():
    """Two runs that are good on the same topics differ by less than each of them is off."""
    post = draws()
    offset = [[-0.1, 0.0, 0.1], [-0.2, 0.0, 0.2], [0.1, 0.0, -0.1]]
    topics = xr.DataArray(offset, dims=("run", "topic"), coords={"run": RUNS, "topic": list("abc")})
    by_topic = post.assign(estimate=post.estimate + topics).assign_attrs(population="")
    errors = xr.DataArray(
        np.diag([0.03**2] * 3)[None],
        dims=(*DIMS, "run_other"),
        coords={"measure": ["P@10"], "run": RUNS, "run_other": RUNS},
    )
    found = combined(means(), by_topic, covariance=errors, population="topics")
    here = combined(means(), post, covariance=errors)
    np.testing.assert_allclose(found.estimate, here.estimate, rtol=1e-9)
    wider = scipy.stats.t(2).ppf(0.95) / scipy.stats.norm.ppf(0.95)
    size = wider * np.std(offset, axis=1, ddof=1) / np.sqrt(3)
    alike = np.array([[1, 1, -1], [1, 1, -1], [-1, -1, 1]])
    added = (found.covariance - here.covariance)[0]
    np.testing.assert_allclose(added, np.outer(size, size) * alike, atol=1e-9)
    variance = np.diagonal(found.covariance[0])
    np.testing.assert_allclose(variance, found.standard_error[0] ** 2, rtol=1e-9)
    off, off_here = (abs(one.interval - one.estimate) for one in (found, here))
    longer = (scipy.stats.norm.ppf(0.95) * size)[None, :, None]
    expected = np.sqrt(off_here.transpose("measure", "run", ...) ** 2 + longer**2)
    free = found.interval.transpose("measure", "run", ...) > 0.0  # not cut
    np.testing.assert_allclose(
        off.transpose("measure", "run", ...).where(free), expected.where(free)
    )
    with pytest.raises(ValueError, match="over=None"):
        combined(means(), post, population="topics")
    with pytest.raises(ValueError, match="scores of these topics are combined first"):
        combined(means(population="topics"), by_topic)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"sample": "other"}, "same sample of judgments"),
        ({"fingerprint": "other"}, "same collection"),
        ({"outside": "model"}, r"same outside \('nonrelevant' and 'model'\)"),
    ],
)
def test_unlike_results_are_refused(changed, message):
    with pytest.raises(ValueError, match=message):
        be.combine(means(outside="nonrelevant"), draws(**changed))


def test_bad_requests_are_refused():
    with pytest.raises(ValueError, match="some are NaN"):
        be.combine(means(error=(np.nan, 0.1, 0.1)), draws())
    with pytest.raises(ValueError, match="posterior draws"):
        be.combine(means(), means())
    with pytest.raises(ValueError, match="have run 'odd'"):
        be.combine(means(), draws().isel(run=[0, 1]))
    with pytest.raises(ValueError, match=r"mean has no dim measure; pick one with sel\(measure="):
        be.combine(means().sel(measure="P@10"), draws())
    with pytest.raises(ValueError, match="post has no dim run"):
        be.combine(means(), draws().sel(run="odd"))
    with pytest.raises(ValueError, match="mean is combined with a model already"):
        be.combine(be.combine(means(), draws()), draws())
    with pytest.raises(ValueError, match="do not say which runs contributed"):
        be.combine(means().drop_vars("contributed"), draws())
    with pytest.raises(ValueError, match="given of group 'mine'; groups: contributed, new"):
        be.combine(means(), draws(), constants={"mine": {"far_weight": 0.9}})
    with pytest.raises(ValueError, match="of group 'new' has 'tau'"):
        be.combine(means(), draws(), constants={"new": {"tau": 1}})
    with pytest.raises(ValueError, match="far_weight is 2"):
        be.combine(means(), draws(), constants={"new": {"far_weight": 2}})


def test_a_covariance_of_another_measure_or_of_none_is_refused():
    dims = ("measure", "run", "run_other")
    known = xr.DataArray(
        np.eye(3)[None] * 0.03**2,
        dims=dims,
        coords={"measure": ["AP"], "run": RUNS, "run_other": RUNS},
        attrs=means().attrs,
    )
    for other in (known, known.sel(measure="AP")):
        with pytest.raises(ValueError, match="the means have measure 'P@10', which"):
            be.combine(means(), draws(), covariance=other)
    with pytest.raises(ValueError, match="has no measure"):
        be.combine(means(), draws(), covariance=known.sel(measure="AP", drop=True))


def test_the_side_by_side_flags_the_run_unlike_the_model():
    joined = combined(means(), draws())
    truth = xr.DataArray([[0.49, 0.41, 0.78]], coords=[["P@10"], RUNS], dims=DIMS)
    table = be.compare_intervals(means(), be.summarize(draws()), joined, truth=truth)
    assert (table.unlike_model > 0.5).to_numpy().tolist() == [[False, False, True]]
    assert table.length_ratio.sel(source="combined", run="old") < 0.75
    np.testing.assert_allclose(table.length_ratio.sel(source="design"), 1.0)
    held = table.covered.sel(run="odd", measure="P@10").to_numpy().tolist()
    assert held == [True, False, True]


def test_results_in_chunks_are_compared_as_they_are():
    parts = means(), be.summarize(draws()), combined(means(), draws())
    chunked = be.compare_intervals(*(part.chunk({"run": 2}) for part in parts))
    xr.testing.assert_identical(chunked, be.compare_intervals(*parts))


@pytest.mark.parametrize(
    ("labels", "lacking"),
    [
        ({"run": [f"x{run}" for run in RUNS]}, f"run '{min(RUNS)}'"),
        ({"measure": ["P_10"]}, "measure 'P@10'"),
        ({"run": [*RUNS[:2], "other"]}, f"run '{RUNS[2]}'"),
    ],
)
def test_a_truth_that_lacks_runs_or_measures_is_refused(labels, lacking):
    truth = xr.DataArray([[0.49, 0.41, 0.78]], coords=[["P@10"], RUNS], dims=DIMS)
    other = truth.assign_coords(labels)
    for given in (other, other.to_dataset(name="estimate")):
        with pytest.raises(ValueError, match=f"the means have {lacking}, which the truth lacks"):
            be.compare_intervals(means(), be.summarize(draws()), truth=given)
    with pytest.raises(ValueError, match="which the truth lacks"):
        be.compare_intervals(means(), be.summarize(draws()), truth=truth.isel(run=[1, 2]))
    backwards = truth.isel(run=[2, 1, 0])
    tables = [
        be.compare_intervals(means(), be.summarize(draws()), truth=one)
        for one in (truth, backwards)
    ]
    xr.testing.assert_identical(*tables)


def test_runs_are_compared_in_any_order():
    mean, summary = means(), be.summarize(draws())
    known = be.compare_intervals(mean, summary)
    backwards = be.compare_intervals(mean, summary.isel(run=slice(None, None, -1)))
    xr.testing.assert_allclose(known, backwards)
    part = be.compare_intervals(mean.isel(run=[1]), summary)
    xr.testing.assert_allclose(part, known.isel(run=[1]))
    with pytest.raises(ValueError, match="have run 'odd', which the results of the model lack"):
        be.compare_intervals(mean, summary.sel(run=["new", "old"]))


@pytest.mark.parametrize(
    ("attrs", "of_model", "message"),
    [
        ({"missing_topics": "skip"}, {"missing_topics": "zero"}, "the same missing_topics"),
        ({"gain": '{"P@10": {"1.0": 0.5}}'}, {"gain": ""}, "the same gains of P@10"),
    ],
)
def test_scores_of_other_topics_or_gains_are_not_combined(attrs, of_model, message):
    mean, post = means().assign_attrs(attrs), draws().assign_attrs(of_model)
    with pytest.raises(ValueError, match=message):
        be.combine(mean, post)
    with pytest.raises(ValueError, match=message):
        be.compare_intervals(mean, be.summarize(post))
    other = mean.assign_attrs({"missing_topics": "zero", "gain": '{"DCG@5": {"1.0": 0.5}}'})
    be.combine(other, post)  # gains of a measure that is not among them


def test_a_run_that_the_model_did_not_learn_from_is_new_though_it_contributed():
    post = draws()
    assert be.combine(means(), post).group.sel(run="old") == "contributed"
    post = post.assign_coords(learned=("run", [False, False, False]))
    assert (be.combine(means(), post).group == "new").all()
    wider = {"new": {"near_ratio": 0.9}}
    new, known = (
        be.with_model_errors(one, constants=wider).standard_error for one in (post, draws())
    )
    assert (new.sel(run="old") > known.sel(run="old")).all()


def test_the_covariance_is_of_the_same_estimator():
    labels = {"measure": ["P@10"], "run": RUNS, "run_other": RUNS}
    matrix = xr.DataArray(0.03**2 * np.eye(3)[None], dims=(*DIMS, "run_other"), coords=labels)
    of_stat = matrix.assign_attrs(estimator="stat")
    with pytest.raises(ValueError, match="of estimator 'stat' and the estimates are of 'dyn'"):
        combined(means(estimator="dyn"), draws(), covariance=of_stat)


def test_the_covariance_is_of_the_same_predictor(small):
    sampled, _ = small
    mean = of_sample(sampled)
    options = {"estimator": "dyn", "predictor": "constant"}
    other = be.covariance(sampled, ["P@10"], anticipated=True, **options)
    with pytest.raises(ValueError, match="of predictor 'constant' and the estimates are of 'pool"):
        be.rankings.rank_sets(mean, covariance=other)
    be.rankings.rank_sets(
        be.mean_over_topics(be.evaluate(sampled, ["P@10"], **options)), covariance=other
    )


def test_means_of_other_topics_of_the_collection_are_not_joined(small):
    sampled, post = small
    scores = be.evaluate(sampled, ["P@10"], estimator="dyn")
    some = [0, 2, 3, 4, 5]
    cut, whole = (be.mean_over_topics(one) for one in (scores.isel(topic=some), scores))
    averaged = post.mean("topic").assign_attrs(post.attrs | {"topics": whole.attrs["topics"]})
    covariance = be.covariance(sampled, ["P@10"], estimator="dyn")
    for mean, other in ((cut, post), (cut, averaged), (whole, post.isel(topic=some))):
        with pytest.raises(ValueError, match=r"the same topics \(of [58] and [85]\)"):
            be.combine(mean, other)
    with pytest.raises(ValueError, match=r"the same topics \(of 5 and 8\)"):
        be.compare_intervals(cut, be.summarize(averaged))
    with pytest.raises(ValueError, match=r"the same topics \(of 5 and 8\)"):
        be.rankings.rank_sets(cut, covariance=covariance)
    together = be.combine(cut, post.isel(topic=some[::-1]))
    assert together.attrs["topics"] == cut.attrs["topics"] != whole.attrs["topics"]


def test_what_only_looks_like_means_is_not_combined(small):
    sampled, post = small
    scores = be.evaluate(sampled, ["P@10"], estimator="dyn")
    mean = be.mean_over_topics(scores)
    options = {"estimator": "dyn"}
    matrix = be.covariance(sampled, ["P@10"], **options).to_dataset(name="covariance")
    for wrong, told in (
        (scores.mean("topic"), "the mean of the errors of topics is not the error of a mean"),
        (mean.assign(standard_error=-mean.standard_error), "standard error of the means is below"),
        (mean.assign(estimate=mean.estimate * np.nan), "the means hold NaN"),
    ):
        with pytest.raises(ValueError, match=told):
            be.combine(wrong, post)
    with pytest.raises(ValueError, match="a DataArray, as be.covariance returns it, not a Dataset"):
        be.combine(mean, post, covariance=matrix)
    means_of_draws = post.mean("topic").assign_attrs(post.attrs | {"topics": mean.attrs["topics"]})
    together, summary = be.combine(mean, post), be.summarize(means_of_draws)
    for parts, told in (
        ((mean, be.summarize(post)), "summary has scores of every topic and mean means over topi"),
        ((together, summary), "mean is a combination, which comes third"),
        ((mean, together), "summary is a combination, which comes third"),
        ((mean, summary, summary), "combined must be what combine returns"),
    ):
        with pytest.raises(ValueError, match=told):
            be.compare_intervals(*parts)
    rows = be.to_frame(be.compare_intervals(mean, summary, together))
    assert rows.source.unique().tolist() == ["design", "model", "combined"]
    assert {"estimate", "lower", "upper", "length", "unlike_model"} <= set(rows.columns)
    assert len(rows) == 3 * mean.sizes["run"]
    one = rows[(rows.source == "combined") & (rows.run == mean.run.item(1))]
    assert one.estimate.item() == together.estimate.isel(run=1).item()


def test_topics_without_a_judgment_part_no_means():
    collection = be.simulate.urn_collection(
        [0.1, 0.2, 0.4], n_topics=4, n_documents=60, prevalence=0.1, random_seed=3
    )
    design = be.designs.uniform_strata(collection, budget=10, n_strata=2, random_seed=1)
    sampled = be.reveal(collection, design, be.draw(design, random_seed=1))
    grade = sampled["judgments/grade"].where(sampled["pair_topic"] != 2)
    sampled = sampled.copy()
    sampled["judgments"] = sampled["judgments"].to_dataset().assign(grade=grade)
    with pytest.warns(UserWarning, match="no judgment yet"):
        scores = be.evaluate(sampled, ["P@10"], estimator="dyn")
    mean = be.mean_over_topics(scores)
    assert (
        mean.attrs["topics"]
        == be.mean_over_topics(scores.dropna("topic", how="all", subset=["estimate"])).attrs[
            "topics"
        ]
    )
    fitted = be.fit(
        be.models.relevance_model(sampled), approximation="laplace", draws=20, random_seed=1
    )
    with pytest.warns(UserWarning, match="no judgment yet"):
        post = be.posterior_scores(fitted, sampled, ["P@10"], random_seed=1)
    covariance = be.covariance(sampled, ["P@10"], estimator="dyn")
    words = {one.attrs["topics"] for one in (mean, post, covariance)}
    assert len(words) == 1 and words.pop().startswith("3-")


@pytest.fixture(scope="module")
def small():
    """A small sample with few degrees of freedom, and the model's posterior of its topics."""
    collection = be.simulate.urn_collection(
        [0.05, 0.1, 0.2, 0.4], n_topics=8, n_documents=150, prevalence=0.1, random_seed=31
    )
    design = be.designs.uniform_strata(collection, budget=8, n_strata=2, random_seed=1)
    sampled = be.reveal(collection, design, be.draw(design, random_seed=1))
    model = be.models.relevance_model(sampled)
    fitted = be.fit(model, approximation="laplace", draws=50, random_seed=1)
    post = be.posterior_scores(fitted, sampled, ["P@10"], over=None, random_seed=1)
    return sampled, post


def of_sample(sampled, estimator="dyn", **options):
    return be.mean_over_topics(be.evaluate(sampled, ["P@10"], estimator=estimator), **options)


def test_the_level_of_the_interval_changes_the_interval_alone(small):
    sampled, post = small
    found = {level: be.combine(of_sample(sampled, ci_prob=level), post) for level in (0.5, 0.99)}
    for name in ("estimate", "standard_error", "unlike_model", "model_weight"):
        np.testing.assert_allclose(found[0.5][name], found[0.99][name], rtol=1e-12)
    length = {level: one.interval.diff("ci_bound") for level, one in found.items()}
    assert (length[0.99].values > 2 * length[0.5].values).all()


def test_groups_of_topics_add_what_their_spread_adds(small):
    sampled, post = small
    topics = sampled["topic"].to_numpy().tolist()
    groups = {topic: index // 2 for index, topic in enumerate(topics)}
    mean, of_topics = of_sample(sampled), {"population": "topics", "topic_groups": groups}
    found, here = be.combine(mean, post, **of_topics), be.combine(mean, post)
    of_groups = post.estimate.drop_vars("topic").coarsen(topic=2).mean()
    spread = of_groups.var("topic", ddof=1).mean(("chain", "draw")) / 4
    wider = scipy.stats.t(3).ppf(0.95) / scipy.stats.norm.ppf(0.95)
    added = (found.standard_error**2 - here.standard_error**2).transpose("measure", "run")
    np.testing.assert_allclose(added, spread.transpose("measure", "run") * wider**2, rtol=1e-9)


@pytest.mark.parametrize("of_groups", [False, True])
def test_differences_vary_over_topics_as_in_the_posterior(small, of_groups):
    sampled, post = small
    topics = sampled["topic"].to_numpy().tolist()
    groups = {topic: index // 2 for index, topic in enumerate(topics)} if of_groups else None
    matrix = be.covariance(sampled, post["measure"].to_numpy().tolist(), estimator="dyn")
    found, here = (
        be.combine(of_sample(sampled), post, covariance=matrix, **asked)
        for asked in ({"population": "topics", "topic_groups": groups}, {})
    )
    added = (found.covariance - here.covariance).to_numpy()
    added = added[:, 0, 0] + added[:, 1, 1] - 2.0 * added[:, 0, 1]
    scores = post.estimate.drop_vars("topic").coarsen(topic=2 if of_groups else 1).mean()
    difference = scores.isel(run=0) - scores.isel(run=1)
    spread = difference.var("topic", ddof=1).mean(("chain", "draw")) / scores.sizes["topic"]
    wider = scipy.stats.t(scores.sizes["topic"] - 1).ppf(0.95) / scipy.stats.norm.ppf(0.95)
    np.testing.assert_allclose(added, spread * wider**2, rtol=1e-9)


def test_intervals_for_the_population_have_students_quantile_of_their_level(small):
    sampled, post = small
    mean = of_sample(sampled, ci_prob=0.99)
    found, here = be.combine(mean, post, population="topics"), be.combine(mean, post)
    spread = post.estimate.var("topic", ddof=1).mean(("chain", "draw")) / post.sizes["topic"]
    longer = scipy.stats.t(post.sizes["topic"] - 1).ppf(0.995) * spread**0.5
    off, off_here = (abs(one.interval - one.estimate) for one in (found, here))
    expected = (off_here**2 + longer**2) ** 0.5
    inside = (found.interval > 0.0) & (found.interval < 1.0)
    assert inside.any()
    xr.testing.assert_allclose(off.where(inside), expected.where(inside).transpose(*off.dims))


@pytest.mark.parametrize("known", [0, 2])
def test_a_design_whose_variance_is_nothing_is_not_believed_more_than_the_model(known):
    """So it is where no judged document of a run was found to be relevant ("stat")."""
    error = [0.03] * known + [0.0] * (3 - known)
    found = combined(means(error=error), draws(spread=0.04))
    sd = np.sqrt(moments(draws(spread=0.04))[1].values)
    assert (found.standard_error.values[0, known:] > 0.5 * sd[0, known:]).all()
    lower, upper = found.interval.values[0, known:].T
    assert (upper - lower > 0.05).all()


def test_one_posterior_draw_is_no_certainty():
    one = draws().isel(chain=[0], draw=[0])
    for asked in (
        lambda: be.combine(means(), one),
        lambda: be.summarize(one),
        lambda: be.rankings.rank_probabilities(one),
    ):
        with pytest.raises(ValueError, match="one posterior draw says nothing of errors"):
            asked()


@pytest.mark.parametrize("level", [0, 1.5, "2", True])
def test_models_learn_from_whole_levels_alone(small, level):
    with pytest.raises(ValueError, match="relevance_level is .*; allowed: a whole number, 1"):
        be.models.relevance_model(small[0], relevance_level=level)


def test_scores_and_intervals_are_possible_scores():
    found = combined(means((0.01, 0.985, 1.02)), draws((0.015, 0.98, 0.99)))
    low, high = found.interval.transpose("ci_bound", "measure", "run").to_numpy()
    assert (low >= 0.0).all() and (low[0, 1:] > 0.9).all()
    assert (high <= 1.0).all() and high[0, 0] < 0.1
    both = means((3.0, 4.0, 5.0)), draws((3.0, 4.0, 5.0))
    sums = be.combine(*(scores.assign_coords(measure=["NumRelRet"]) for scores in both))
    assert (sums.interval > 1).all()


@pytest.mark.parametrize("centre", [0.5, 1.0, 1.3])
def test_a_mean_of_possible_scores_is_possible_and_in_its_interval(centre):
    """However far outside of [0, 1] the unbiased estimate of the design lies."""
    for estimate in (-0.5, -0.01, 1.01, 1.05, 3.0):
        for error in (0.0, 1e-4, 0.03):
            mean, post = means([estimate] * 3, [error] * 3), draws([centre] * 3, spread=0.001)
            found = combined(mean, post)
            low, high = found.interval.transpose("ci_bound", "measure", "run").to_numpy()
            estimates = found.estimate.to_numpy()
            assert (0.0 <= low).all() and (high <= 1.0).all()
            assert (low <= estimates).all() and (estimates <= high).all()
            assert np.isfinite(found.standard_error).all()


def test_perfect_and_worthless_runs_have_possible_scores():
    """Of 12 topics with ten documents, two runs have all relevant ones first, or none."""
    topics = [f"t{number:02d}" for number in range(12)]
    good, bad = ([f"{kind}{number}" for number in range(5)] for kind in "gn")
    lists = {"hit": good, "half": [good[0], bad[0], good[1], bad[1], bad[2]], "miss": bad}
    runs = pd.DataFrame(
        [
            (run, topic, document, 10.0 - rank)
            for run, documents in lists.items()
            for topic in topics
            for rank, document in enumerate(documents)
        ],
        columns=["run", "topic", "document", "score"],
    )
    judged = runs[["topic", "document"]].drop_duplicates()
    judged = judged.assign(grade=judged["document"].str.startswith("g").astype(int))
    whole = be.read_collection(judged, runs)
    design = be.designs.pps_strata(whole, budget=4, n_strata=2)
    sampled = be.reveal(whole, design, be.draw(design, random_seed=1))
    found = be.scores(
        sampled, ["P@5", "AP", "nDCG@5", "R@5"], estimator="combined", draws=200, random_seed=1
    )
    low, high = found.interval.transpose("ci_bound", "measure", "run").to_numpy()
    assert (0.0 <= low).all() and (high <= 1.0).all()
    assert (low <= found.estimate).all() and (found.estimate <= high).all()
    assert (found.estimate.sel(run="hit") > 0.85).all()
    assert (found.estimate.sel(run="miss") < 0.15).all()
