"""Wallenius' urn as a PyMC distribution: colours in order of draw, with ranks that nobody judged.

First the distribution that models use, then the PyTensor operations and the PyMC distributions
behind it. The module imports PyMC and must be imported inside functions.
"""

import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from pymc.distributions.dist_math import check_parameters
from pymc.distributions.shape_utils import rv_size_is_none
from pytensor.gradient import disconnected_type
from pytensor.graph.basic import Apply
from pytensor.graph.op import Op
from pytensor.link.numba.dispatch import basic as numba_basic
from pytensor.link.numba.dispatch.random import numba_core_rv_funcify
from pytensor.tensor.random.op import RandomVariable
from pytensor.tensor.variable import TensorVariable

from bayeseval.distributions import wallenius_sequence_draws, wallenius_sequence_kernel

# PyTensor keeps compiled functions on disk: a changed kernel must change their key.
KERNEL_VERSION = zlib.crc32(
    b"".join(
        Path(str(module.__file__)).read_bytes()
        for module in (wallenius_sequence_kernel, wallenius_sequence_draws)
    )
)


def wallenius_sequence(
    name: str | None,
    log_odds: Any,
    n_documents: Any,
    judged: Any,
    *,
    n_relevant: Any = None,
    logit_prevalence: Any = None,
    likelihood_weight: float = 1.0,
    **kwargs: Any,
) -> TensorVariable:
    r"""Random variable: relevance of the documents of a run, in the order of the ranks.

    A value holds 1 (relevant), 0 (not relevant) and -1 (unjudged). For a topic with N documents, M
    of them relevant, a run draws documents without replacement; after b relevant and c other ones
    the next document is relevant with probability (equation 12)

    .. math:: P(1 \mid b, c) = \frac{M - b}{(M - b) + w (N - M - c)}

    The likelihood of a run is the product over its ranks, summed exactly over the relevances of
    unjudged ranks above the last judged one. With `n_relevant` the number M is known, runs are
    independent and a value is one run. With `logit_prevalence`, M ~ Binomial(N, q) belongs to the
    topic: a value is all its runs, and

    .. math:: L = \sum_M \binom{N}{M} q^M (1 - q)^{N - M} \prod_r L_r(M)^a

    with a the `likelihood_weight`; where M is known the log-likelihood of a run is a log L_r.

    What is random: the draws of the runs, and M. Assumed: one weight for relevant and one for other
    documents; which ranks are judged does not depend on relevance given log w and q; the runs of a
    topic are independent given M and w. Runs that share documents are not: the product is then a
    composite likelihood and its posterior too narrow, which a weight below 1 can correct. From
    short prefixes and large N only logit q - log w is well known.

    Parameters
    ----------
    name : str or None
        Name in the model; None gives an unnamed variable for `pm.logp` and `pm.draw`.
    log_odds : tensor_like of float (..., run)
        log w: 0 is random order, the lower the better the run. With `n_relevant` any batch dims.
    n_documents : tensor_like of int
        N. Dims: those of `log_odds`, without run where M is summed out.
    judged : array_like of bool (..., run, rank)
        Where draws show a relevance; elsewhere, and past rank N, they are -1. In the log-likelihood
        the -1 of the value count instead. With `n_relevant` (..., rank).
    n_relevant : tensor_like of int, optional
        M, where it is known; dims as `log_odds`. Give this or `logit_prevalence`.
    logit_prevalence : tensor_like of float, optional
        log(q / (1 - q)), dims those of `log_odds` without run.
    likelihood_weight : float
        a, above 0 and fixed. Draws ignore it.
    **kwargs
        What PyMC takes: `dims`, `observed`, `size`, `shape`.

    Returns
    -------
    TensorVariable of int8
        Dims of the parameters, then (rank,) where M is known and (run, rank) where it is not.

    Raises
    ------
    ValueError
        If none or both of `n_relevant` and `logit_prevalence` are given, a number is not whole,
        negative or above N, `likelihood_weight` is not one positive number, or `judged` lacks
        ranks.

    References
    ----------
    Park, Uncertainty in Rank-Biased Precision, ADCS 2016, section 3.1, equations 9 to 12,
    doi:10.1145/3015022.3015029. Ribatet, Cooley and Davison, Bayesian inference from composite
    likelihoods, Statistica Sinica 22, 2012, doi:10.5705/ss.2009.248.

    Examples
    --------
    One relevant document among three, w = 1/2, nobody judged the first rank.

    >>> run = wallenius_sequence(None, np.log(0.5), 3, [False, True], n_relevant=1)
    >>> np.exp(pm.logp(run, np.array([-1, 1], dtype="int8")).eval())  # 1/2 times 2/3
    np.float64(0.333333333)
    """
    _check(n_documents, judged, n_relevant, logit_prevalence)
    fixed = not hasattr(likelihood_weight, "owner") and np.ndim(likelihood_weight) == 0
    if not (fixed and 0.0 < likelihood_weight < np.inf):
        raise ValueError(
            f"likelihood_weight must be one fixed number above 0; found {likelihood_weight!r}."
        )
    if n_relevant is None:
        kind, parameters = WalleniusTopic, (log_odds, logit_prevalence, n_documents)
    else:
        kind, parameters = WalleniusSequence, (log_odds, n_documents, n_relevant)
    parameters = (*parameters, judged, likelihood_weight)
    return kind.dist(*parameters, **kwargs) if name is None else kind(name, *parameters, **kwargs)


def _check(n_documents: Any, judged: Any, n_relevant: Any, logit_prevalence: Any) -> None:
    """Refuse what no urn has, as far as it is fixed."""
    if (n_relevant is None) == (logit_prevalence is None):
        given = "neither" if n_relevant is None else "both"
        raise ValueError(f"Give n_relevant or logit_prevalence, one of them; {given} given.")
    core = ("rank",) if n_relevant is not None else ("run", "rank")
    fixed = not hasattr(judged, "owner")
    if fixed and (np.ndim(judged) < len(core) or 0 in np.shape(judged)[-len(core) :]):
        raise ValueError(
            f"judged must have the dims {core}, none of them empty, last; found shape "
            f"{np.shape(judged)}."
        )
    known = {} if n_relevant is None else {"n_relevant": n_relevant}
    _check_numbers(n_documents=n_documents, **known)


def _check_numbers(**numbers: Any) -> None:
    """Refuse fixed numbers that no urn has; symbolic ones are checked with the log pmf."""
    fixed = {name: np.asarray(x) for name, x in numbers.items() if not hasattr(x, "owner")}
    for name, number in fixed.items():
        wrong = ~np.isfinite(number) | (number != np.round(number)) | (number < 0)
        if wrong.any():
            found = number[wrong].flat[0]
            raise ValueError(f"{name} must be whole numbers, 0 or more; found {found}.")
    most = fixed.pop("n_documents", np.asarray(np.inf))
    for name, number in fixed.items():
        number, limit = np.broadcast_arrays(number, most)
        if (number > limit).any():
            found, allowed = number[number > limit].flat[0], limit[number > limit].flat[0]
            raise ValueError(f"{name} must be at most n_documents; found {found} for {allowed}.")


class KernelOp(Op):
    """Operation whose outputs a compiled kernel returns: log probabilities, and their derivatives.

    Only the log probabilities are connected, and only to the inputs by which there is a derivative.
    """

    __props__ = ()
    kernel: Any
    dtypes: tuple[str, ...]  # of the inputs
    # of each output its number of dims, and the input that has its shape; all are float64
    outputs: tuple[tuple[int, int], ...]
    slopes: dict[int, int]  # input -> the output that is the derivative by it

    def make_node(self, *inputs):
        """Node with inputs of the dtypes."""
        typed = [pt.cast(x, dtype) for x, dtype in zip(inputs, self.dtypes, strict=True)]
        found = [pt.tensor(dtype="float64", shape=(None,) * ndim) for ndim, _ in self.outputs]
        return Apply(self, typed, found)

    def perform(self, node, inputs, output_storage):
        """All outputs, outside numba."""
        for storage, value in zip(output_storage, self.kernel(*inputs), strict=True):
            storage[0] = value

    def infer_shape(self, node, input_shapes):
        """Shapes of inputs."""
        return [input_shapes[like] for _, like in self.outputs]

    def connection_pattern(self, node):
        """Of each input whether it is connected to the first output, and to the others."""
        others = [False] * (len(self.outputs) - 1)
        return [[place in self.slopes, *others] for place in range(len(self.dtypes))]

    def pullback(self, inputs, outputs, cotangents):
        """Gradients: the other outputs of this very node."""
        gradients: list[Any] = [disconnected_type() for _ in inputs]
        for place, number in self.slopes.items():
            cotangent = _padded(cotangents[0], self.outputs[number][0] - 1)
            gradients[place] = pt.mul(cotangent, outputs[number])
        return gradients


@numba_basic.register_funcify_default_op_cache_key(KernelOp)
def _numba_outputs(op, node, **kwargs):
    kernel = op.kernel

    @numba_basic.numba_njit
    def wallenius_outputs(*inputs):
        return kernel(*inputs)

    return wallenius_outputs, KERNEL_VERSION


class SequenceLogp(KernelOp):
    """Log-likelihood of colours (row, rank) given log odds, N and M of each row; d/d log odds."""

    kernel = staticmethod(wallenius_sequence_kernel.run_log_likelihoods)
    dtypes = ("int8", "float64", "int64", "int64")
    outputs = ((1, 1), (1, 1))
    slopes = {1: 1}


class TopicLogp(KernelOp):
    """Log-likelihood of topics (topic, run, rank), M summed out, and its two derivatives.

    Given log odds (topic, run), and logit prevalence, N and likelihood weight (topic,).
    """

    kernel = staticmethod(wallenius_sequence_kernel.topic_log_likelihoods)
    dtypes = ("int8", "float64", "float64", "int64", "float64")
    outputs = ((1, 2), (2, 1), (1, 2))
    slopes = {1: 1, 2: 2}


class SequenceRV(RandomVariable):
    """Random colours of a run, M known."""

    name = "wallenius_sequence"
    signature = "(),(),(),(d),()->(d)"
    dtype = "int8"
    _print_name = ("WalleniusSequence", "\\operatorname{WalleniusSequence}")

    @classmethod
    def rng_fn(cls, rng, log_odds, n_documents, n_relevant, judged, likelihood_weight, size):
        """Draws outside numba."""
        shape = _batch_shape(size, [log_odds, n_documents, n_relevant, judged[..., 0]])
        odds = _rows(log_odds, shape, (), np.float64)
        numbers = [_rows(x, shape, (), np.int64) for x in (n_documents, n_relevant)]
        mask = _rows(judged, shape, judged.shape[-1:], np.bool_)
        colour = wallenius_sequence_draws.random_runs(rng, odds, numbers[0], numbers[1], mask)
        return colour.reshape(shape + judged.shape[-1:])


class TopicRV(RandomVariable):
    """Random colours of all runs of a topic, M binomial."""

    name = "wallenius_topic"
    signature = "(r),(),(),(r,d),()->(r,d)"
    dtype = "int8"
    _print_name = ("WalleniusTopic", "\\operatorname{WalleniusTopic}")

    @classmethod
    def rng_fn(cls, rng, log_odds, logit_prevalence, n_documents, judged, likelihood_weight, size):
        """Draws outside numba."""
        core = judged.shape[-2:]
        shape = _batch_shape(
            size, [log_odds[..., 0], logit_prevalence, n_documents, judged[..., 0, 0]]
        )
        odds = _rows(log_odds, shape, core[:1], np.float64)
        prevalence = _rows(logit_prevalence, shape, (), np.float64)
        documents = _rows(n_documents, shape, (), np.int64)
        mask = _rows(judged, shape, core, np.bool_)
        colour = wallenius_sequence_draws.random_topics(rng, odds, prevalence, documents, mask)
        return colour.reshape(shape + core)


def _batch_shape(size, parameters):
    """Batch dims of a draw."""
    return np.broadcast_shapes(*map(np.shape, parameters)) if size is None else tuple(size)


def _rows(value, shape, core, dtype):
    """One row of the parameter for each element of the batch."""
    rows = np.broadcast_to(value, shape + core).reshape((-1, *core))
    return np.ascontiguousarray(rows, dtype=dtype)


@numba_core_rv_funcify.register(SequenceRV)
def _numba_random_run(op, node):
    fill = wallenius_sequence_draws.draw_run

    @numba_basic.numba_njit
    def random(rng, log_odds, n_documents, n_relevant, judged, likelihood_weight):
        colour = np.empty(judged.shape, np.int8)
        fill(rng, log_odds, n_relevant, n_documents, judged, colour)
        return colour

    return random, KERNEL_VERSION


@numba_core_rv_funcify.register(TopicRV)
def _numba_random_topic(op, node):
    fill = wallenius_sequence_draws.draw_topic

    @numba_basic.numba_njit
    def random(rng, log_odds, logit_prevalence, n_documents, judged, likelihood_weight):
        colour = np.empty(judged.shape, np.int8)
        fill(rng, log_odds, logit_prevalence, n_documents, judged, colour)
        return colour

    return random, KERNEL_VERSION


class WalleniusSequence(pm.Discrete):
    """The distribution behind `wallenius_sequence` with M known: a value is one run's colours."""

    rv_op = SequenceRV()

    @classmethod
    def dist(cls, log_odds, n_documents, n_relevant, judged, likelihood_weight, *args, **kwargs):
        """Unnamed variable; numbers become int64 and the log odds float64."""
        parameters = [_tensor(log_odds, np.float64), _tensor(n_documents, np.int64)]
        parameters += [_tensor(n_relevant, np.int64), _tensor(judged, np.bool_)]
        parameters += [_tensor(likelihood_weight, np.float64)]
        return super().dist(parameters, *args, **kwargs)

    @staticmethod
    def support_point(
        rv: Any, size: Any, log_odds: Any, n_documents: Any, n_relevant: Any, judged: Any, *_: Any
    ):
        """Relevant documents first."""
        rank = pt.arange(judged.shape[-1])
        point: Any = pt.switch(judged, pt.lt(rank, _padded(n_relevant)), -1)
        point = pt.broadcast_arrays(point, _padded(log_odds), _padded(n_documents))[0]
        return _sized(point, size, judged.shape[-1:])

    @staticmethod
    def logp(
        value: Any,
        log_odds: Any,
        n_documents: Any,
        n_relevant: Any,
        judged: Any,
        likelihood_weight: Any,
    ):
        """Log-likelihood of each run, times the weight."""
        batch = pt.broadcast_arrays(value[..., 0], log_odds, n_documents, n_relevant)
        shape, ndim = batch[0].shape, batch[0].ndim
        rows = pt.broadcast_to(value, (*_sizes(shape, ndim), value.shape[-1]))
        flat = [parameter.reshape((-1,)) for parameter in batch[1:]]
        log_likelihood: Any = (
            SequenceLogp().make_node(rows.reshape((-1, value.shape[-1])), *flat).outputs[0]
        )
        result = pt.mul(log_likelihood.reshape(shape, ndim=ndim), likelihood_weight)
        conditions: list[Any] = [pt.ge(n_relevant, 0), pt.le(n_relevant, n_documents)]
        message = "0 <= n_relevant <= n_documents"
        return check_parameters(_possible(value, result, 1), *conditions, msg=message)


class WalleniusTopic(pm.Discrete):
    """The distribution behind `wallenius_sequence` with M binomial: all runs of a topic."""

    rv_op = TopicRV()

    @classmethod
    def dist(
        cls, log_odds, logit_prevalence, n_documents, judged, likelihood_weight, *args, **kwargs
    ):
        """Unnamed variable; numbers become int64 and the parameters float64."""
        odds = _tensor(log_odds, np.float64)
        if odds.ndim == 0 or odds.type.shape[-1] == 1:
            runs = _tensor(judged, np.bool_).shape[-2]
            odds = pt.atleast_1d(odds)
            odds = pt.broadcast_to(odds, (*_sizes(odds.shape, odds.ndim - 1), runs))
        parameters = [odds, _tensor(logit_prevalence, np.float64)]
        parameters += [_tensor(n_documents, np.int64), _tensor(judged, np.bool_)]
        parameters += [_tensor(likelihood_weight, np.float64)]
        return super().dist(parameters, *args, **kwargs)

    @staticmethod
    def support_point(
        rv: Any,
        size: Any,
        log_odds: Any,
        logit_prevalence: Any,
        n_documents: Any,
        judged: Any,
        *_: Any,
    ):
        """Nothing relevant: possible for every N."""
        point: Any = pt.switch(judged, 0, -1)
        shapes = [_padded(log_odds), _padded(logit_prevalence, 2)]
        point = pt.broadcast_arrays(point, *shapes, _padded(n_documents, 2))[0]
        return _sized(point, size, judged.shape[-2:])

    @staticmethod
    def logp(
        value: Any,
        log_odds: Any,
        logit_prevalence: Any,
        n_documents: Any,
        judged: Any,
        likelihood_weight: Any,
    ):
        """Log-likelihood of each topic."""
        batch = pt.broadcast_arrays(
            value[..., 0, 0], log_odds[..., 0], logit_prevalence, n_documents, likelihood_weight
        )
        shape, ndim = batch[0].shape, batch[0].ndim
        sizes, runs, ranks = _sizes(shape, ndim), value.shape[-2], value.shape[-1]
        colour = pt.broadcast_to(value, (*sizes, runs, ranks)).reshape((-1, runs, ranks))
        odds = pt.broadcast_to(log_odds, (*sizes, runs)).reshape((-1, runs))
        flat = [parameter.reshape((-1,)) for parameter in batch[2:]]
        log_likelihood: Any = TopicLogp().make_node(colour, odds, *flat).outputs[0]
        result = log_likelihood.reshape(shape, ndim=ndim)
        condition: Any = pt.ge(n_documents, 0)
        return check_parameters(_possible(value, result, 2), condition, msg="n_documents >= 0")


def _padded(value: Any, n_dims: int = 1) -> Any:
    """With dims of length one after the last."""
    return value[(..., *[None] * n_dims)]


def _tensor(value: Any, dtype: Any) -> Any:
    """Symbolic as it is, anything else as an array of the dtype: bare numbers lose precision."""
    return pt.as_tensor_variable(value if hasattr(value, "owner") else np.asarray(value, dtype))


def _sizes(shape, ndim):
    return [shape[axis] for axis in range(ndim)]


def _sized(point, size, core):
    """A point of the support at the size asked for."""
    point = pt.cast(point, "int8")
    return point if rv_size_is_none(size) else pt.full(pt.concatenate([size, core]), point)


def _possible(value: Any, result: Any, core: int) -> Any:
    """Minus infinity where a value holds anything but 1, 0 and -1."""
    axes = tuple(range(-core, 0))
    condition: Any = pt.le(pt.abs(value), 1)
    return pt.switch(pt.all(condition, axis=axes), result, -np.inf)
