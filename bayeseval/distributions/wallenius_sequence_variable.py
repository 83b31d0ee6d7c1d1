"""PyTensor operations and PyMC distributions of the urn's sequences.

Imported inside functions only.
"""

import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from pymc.distributions.dist_math import check_parameters
from pymc.distributions.shape_utils import rv_size_is_none
from pytensor.link.numba.dispatch import basic as numba_basic
from pytensor.link.numba.dispatch.random import numba_core_rv_funcify
from pytensor.tensor.random.op import RandomVariable

from bayeseval.distributions import wallenius_sequence_draws, wallenius_sequence_kernel
from bayeseval.distributions.wallenius_count_variable import KernelOp, padded

# PyTensor keeps compiled functions on disk: a changed kernel must change their key.
KERNEL_VERSION = zlib.crc32(
    b"".join(
        Path(str(module.__file__)).read_bytes()
        for module in (wallenius_sequence_kernel, wallenius_sequence_draws)
    )
)


class SequenceLogp(KernelOp):
    """Log-likelihood of colours (row, rank) given log odds, N and M of each row; d/d log odds."""

    kernel = staticmethod(wallenius_sequence_kernel.run_log_likelihoods)
    version = KERNEL_VERSION
    dtypes = ("int8", "float64", "int64", "int64")
    outputs = ((1, 1), (1, 1))
    slopes = {1: 1}


class TopicLogp(KernelOp):
    """Log-likelihood of topics (topic, run, rank), M summed out, and its two derivatives.

    Given log odds (topic, run), and logit prevalence, N and likelihood weight (topic,).
    """

    kernel = staticmethod(wallenius_sequence_kernel.topic_log_likelihoods)
    version = KERNEL_VERSION
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
        point: Any = pt.switch(judged, pt.lt(rank, padded(n_relevant)), -1)
        point = pt.broadcast_arrays(point, padded(log_odds), padded(n_documents))[0]
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
        shapes = [padded(log_odds), padded(logit_prevalence, 2)]
        point = pt.broadcast_arrays(point, *shapes, padded(n_documents, 2))[0]
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
