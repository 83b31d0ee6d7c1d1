"""The relevance model under its sampler: minutes, for compiling takes longer than sampling."""

import numpy as np
import pytest

import bayeseval as be

pytestmark = pytest.mark.slow


def test_the_sampler_passes_and_the_approximation_gives_nearly_its_scores():
    collection = be.simulate.urn_collection(
        [0.1, 0.2, 0.4, 0.3], n_topics=6, prevalence=0.1, random_seed=1
    )
    design = be.designs.pps_strata(collection, budget=30, n_strata=10)
    sampled = be.reveal(collection, design, be.draw(design, random_seed=1))
    model = be.models.relevance_model(sampled)
    # r_hat is near its limit with 1,000 draws, and a few divergences come with longer steps
    careful = {"target_accept": 0.95}
    fitted = be.fit(model, draws=2000, options=careful, random_seed=1)
    assert be.verdict(fitted).passed.all()
    quick = be.fit(model, approximation="laplace", random_seed=1)
    exact, near = (
        be.summarize(be.posterior_scores(one, sampled, "P@10", random_seed=1))
        for one in (fitted, quick)
    )
    np.testing.assert_allclose(near.estimate, exact.estimate, atol=0.05)
    ratio = near.standard_error / exact.standard_error
    assert 0.7 < float(ratio.min()) and float(ratio.max()) < 1.3
