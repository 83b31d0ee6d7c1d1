"""Draws of the number of relevant documents of every topic from a fit of the count model."""

import numpy as np
import xarray as xr

from bayeseval.models.identity import check_fit, model_name


def relevant_numbers(fitted: xr.DataTree, *, random_seed: int | None = None) -> xr.DataArray:
    r"""Posterior draws of the number of relevant documents of every topic.

    .. math:: R_t = \sum_c \left( k_{tc} + \mathrm{Binomial}(N_{tc} - n_{tc}, p_{tc}) \right)

    over the cells c of topic t, k of whose n judged documents are relevant.

    Parameters
    ----------
    fitted : DataTree
        Fit of :func:`bayeseval.models.count_model`.
    random_seed : int, optional
        Seed of the binomial draws.

    Returns
    -------
    DataArray (chain, draw, topic)

    Raises
    ------
    ValueError
        A fit of another model.

    Examples
    --------
    >>> import pymc as pm, bayeseval as be
    >>> collection = be.simulate.urn_collection(
    ...     [0.1, 0.2], n_topics=3, n_documents=200, prevalence=0.1, random_seed=1
    ... )
    >>> design = be.designs.pps_strata(collection, budget=20, n_strata=4)
    >>> sampled = be.reveal(collection, design, be.draw(design, random_seed=1))
    >>> with be.models.count_model(sampled):
    ...     prior = pm.sample_prior_predictive(
    ...         5, random_seed=1, compile_kwargs={"mode": "FAST_COMPILE"}
    ...     )
    >>> prior["posterior"] = prior["prior"]
    >>> dict(be.models.relevant_numbers(prior, random_seed=1).sizes)
    {'chain': 1, 'draw': 5, 'topic': 3}
    """
    check_fit(fitted)
    if model_name(fitted) != "count_model":
        raise ValueError(
            f"the fit is of {model_name(fitted) or 'another model'}; numbers of relevant documents "
            "are drawn from a fit of count_model"
        )
    logit = fitted["posterior/logit"].transpose("chain", "draw", "cell").to_numpy()
    constant = fitted["constant_data"].to_dataset()
    random = np.random.default_rng(random_seed)
    share = 1.0 / (1.0 + np.exp(-logit))
    number = random.binomial(constant["cell_unjudged"].to_numpy().astype(int), share)
    number = number + constant["cell_relevant"].to_numpy().astype(int)
    topics = fitted["posterior"]["topic"].to_numpy()
    inside = constant["cell_topic"].to_numpy()[:, None] == np.arange(topics.size)
    total = number @ inside
    return xr.DataArray(
        total, dims=("chain", "draw", "topic"), coords={"topic": topics}, name="relevant_number"
    )
