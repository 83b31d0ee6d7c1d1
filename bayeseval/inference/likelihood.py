"""Log likelihood of every observation of a fit, as leave-one-out comparisons need it."""

from typing import Any

import numpy as np
import xarray as xr

from bayeseval.collection.labels import label_positions
from bayeseval.models.identity import check_fit, check_same_model, model_name
from bayeseval.models.relevance.external import label_columns, label_rate
from bayeseval.models.table import kind_of


def log_likelihood(fitted: xr.DataTree, model) -> xr.DataTree:
    r"""Fit with the log likelihood of every observation under every draw, for ``az.loo``.

    Models are compared by how well they predict judgments that they have not seen,
    :math:`elpd = \sum_d \log P(y_d \mid y_{-d})`. With external labels the fit has two kinds of
    observations, judgments and labels, and a model without labels only one: their sums do not
    compare. What compares is the prediction of the judgment given the document's labels,

    .. math:: P(y_d \mid l_d, \psi) = \frac{P(y_d \mid \psi) \prod_c \theta_{c y_d l_{dc}}}
              {\sum_v P(v \mid \psi) \prod_c \theta_{c v l_{dc}}}

    with :math:`\psi` the parameters and :math:`\theta_c` the document's error rates of label column
    c (which go with what all judgments say of it, its own among them: where they are few that costs
    some elpd). Given the parameters the pairs are independent, so :math:`P(y_d \mid y_{-d}, l) =
    1 / E[1 / P(y_d \mid l_d, \psi)]` over the posterior, which is what ``az.loo`` computes from it.
    It stands in the group as ``relevance_given_labels`` (or ``grade_given_labels``).

    Parameters
    ----------
    fitted : DataTree
        What :func:`bayeseval.fit` returned for the model, of a sampler.
    model : pymc.Model

    Returns
    -------
    DataTree
        The fit with a group ``log_likelihood``: a variable (chain, draw, ...) for every observed
        one, and that of the formula where there are labels.

    Raises
    ------
    ValueError
        A fit without observations, such as a Laplace approximation; a fit of another model; one
        of ``urn_model``, whose
        lists share documents and are weighted: to leave one out says nothing of new judgments.

    References
    ----------
    Vehtari, Gelman and Gabry, "Practical Bayesian model evaluation using leave-one-out
    cross-validation and WAIC", Statistics and Computing 27 (2017), doi:10.1007/s11222-016-9696-4.

    Examples
    --------
    >>> import pymc as pm, bayeseval as be
    >>> with pm.Model() as model:
    ...     known = pm.Data("judged_score", [0.2, 0.4, 0.3])
    ...     score = pm.Normal("score", pm.Normal("mean", 0.0, 1.0), 0.1, shape=3)
    >>> fitted = be.fit(model, draws=500, random_seed=1)
    >>> dict(be.inference.log_likelihood(fitted, model)["log_likelihood/score"].sizes)
    {'chain': 4, 'draw': 500, 'score_dim_0': 3}
    """
    check_fit(fitted)
    if "observed_data" not in fitted.children:
        raise ValueError(
            "this fit holds no observations, as a Laplace approximation does not; fit the model "
            "with a sampler"
        )
    kind = kind_of(model)
    check_same_model(model, fitted)
    if kind is not None and kind.judgment is None:
        raise ValueError(
            f"a fit of {model_name(model)} has a composite likelihood, of weighted lists that "
            "share documents, and no log likelihood of single judgments to leave one out of"
        )
    observed = {
        str(name): values.to_numpy()
        for name, values in fitted["observed_data"].to_dataset().data_vars.items()
    }
    group = _pointwise(fitted, model, observed, list(observed))
    if kind is not None and kind.judgment is not None and label_columns(model.coords):
        given = _given_labels(fitted, model, observed, kind.judgment)
        named = {f"{kind.judgment}_given_labels": group[kind.judgment].copy(data=given)}
        group = group.assign(named)
    return xr.DataTree.from_dict(
        {node.path: node.to_dataset(inherit=False) for node in fitted.subtree}
        | {"/log_likelihood": group}
    )


def _pointwise(fitted: xr.DataTree, model, observed: dict, names: list[str]) -> xr.Dataset:
    """Log likelihood of some values of the observed variables.

    The graph is run as it stands, without a compiler, which would take longer than all the draws;
    only log(sigmoid(x)) and the like are put in the form that does not overflow.
    """
    import pymc as pm
    from pytensor.compile.mode import get_mode

    pointwise: Any = pm.compute_log_likelihood(
        fitted,
        var_names=names,
        extend_inferencedata=False,
        model=pm.observe(model, observed),
        progressbar=False,
        compile_kwargs={"mode": get_mode("FAST_COMPILE").including("stabilize")},
    )
    return (
        pointwise if isinstance(pointwise, xr.Dataset) else pointwise["log_likelihood"].to_dataset()
    )


def _given_labels(fitted: xr.DataTree, model, observed: dict, truth: str) -> np.ndarray:
    """Log probability (chain, draw, judged_pair) of what was judged, given the pair's labels."""
    from scipy.special import logsumexp

    states = range(len(model.coords["state"]))
    judged = observed[truth]
    mass = np.stack(
        [
            _pointwise(fitted, model, observed | {truth: np.full_like(judged, state)}, [truth])[
                truth
            ].to_numpy()
            for state in states
        ]
    )
    pairs = np.array(model.coords["judged_pair"])
    logit = model["label_logit"].get_value()
    for column in label_columns(model.coords):
        rows = label_positions(pairs, np.array(model.coords[f"{column}_pair"]))
        share, slope = (
            fitted[f"posterior/{column}_{name}"].transpose("state", ..., "chain", "draw").to_numpy()
            for name in ("share", "slope")
        )
        for state in states:
            rate = label_rate(
                observed[f"{column}_label"],
                share[state].reshape(share.shape[1], -1).T,
                slope[state].ravel(),
                logit[rows],
            )
            mass[state][..., rows] += np.log(rate.T).reshape(*mass.shape[1:3], -1)
    joint = np.take_along_axis(mass, judged[None, None, None], axis=0)[0]
    return joint - logsumexp(mass, axis=0)
