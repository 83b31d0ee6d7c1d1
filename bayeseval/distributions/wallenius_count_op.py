"""PyTensor and PyMC side of Wallenius' distribution of counts; imported inside functions only."""

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

from bayeseval.distributions import wallenius_count_kernel as kernel

# PyTensor keeps compiled functions on disk: a changed kernel must change their key.
KERNEL_VERSION = zlib.crc32(Path(kernel.__file__).read_bytes())


class WalleniusCountLogp(Op):
    """Log pmf of vectors (count, draws, relevant, documents, log odds), and d/d log odds."""

    __props__ = ()
    kernel = staticmethod(kernel.log_pmfs)

    def make_node(self, count, n_draws, n_relevant, n_documents, log_odds):
        """Node with int64 vectors and the log odds as float64."""
        integers = [pt.cast(x, "int64") for x in (count, n_draws, n_relevant, n_documents)]
        inputs = [*integers, pt.cast(log_odds, "float64")]
        return Apply(self, inputs, [pt.dvector(), pt.dvector()])

    def perform(self, node, inputs, output_storage):
        """Both vectors, outside numba."""
        for storage, value in zip(output_storage, self.kernel(*inputs), strict=True):
            storage[0] = value

    def infer_shape(self, node, input_shapes):
        """Both outputs are as long as the inputs."""
        return [input_shapes[0], input_shapes[0]]

    def connection_pattern(self, node):
        """Only the first output is connected, and only to the log odds."""
        return [[False, False]] * 4 + [[True, False]]

    def pullback(self, inputs, outputs, cotangents):
        """Gradient with respect to the log odds: the second output of this very node."""
        return [disconnected_type() for _ in range(4)] + [pt.mul(cotangents[0], outputs[1])]


class WalleniusCountLogcdf(WalleniusCountLogp):
    """Log cdf of the same vectors, and d/d log odds."""

    kernel = staticmethod(kernel.log_cdfs)


@numba_basic.register_funcify_default_op_cache_key(WalleniusCountLogp)
def _numba_values(op, node, **kwargs):
    values = op.kernel

    @numba_basic.numba_njit
    def wallenius_count_values(count, n_draws, n_relevant, n_documents, log_odds):
        return values(count, n_draws, n_relevant, n_documents, log_odds)

    return wallenius_count_values, KERNEL_VERSION


class WalleniusCountRV(RandomVariable):
    """Random counts of relevant documents."""

    name = "wallenius_count"
    signature = "(),(),(),()->()"
    dtype = "int64"
    _print_name = ("WalleniusCount", "\\operatorname{WalleniusCount}")

    @classmethod
    def rng_fn(cls, rng, n_draws, n_relevant, n_documents, log_odds, size):
        """Draws outside numba."""
        parameters = np.broadcast_arrays(n_draws, n_relevant, n_documents, log_odds)
        shape = parameters[0].shape if size is None else tuple(size)
        flat = [np.broadcast_to(value, shape).reshape(-1) for value in parameters]
        draws, relevant, documents = (np.ascontiguousarray(x, dtype=np.int64) for x in flat[:3])
        odds = np.ascontiguousarray(flat[3], dtype=np.float64)
        return kernel.random_counts(rng, draws, relevant, documents, odds).reshape(shape)[()]


wallenius_count_rv = WalleniusCountRV()


@numba_core_rv_funcify.register(WalleniusCountRV)
def _numba_random(op, node):
    @numba_basic.numba_njit
    def random(rng, n_draws, n_relevant, n_documents, log_odds):
        return kernel.random_count(rng, n_draws, n_relevant, n_documents, log_odds)

    return random, KERNEL_VERSION


class WalleniusCount(pm.Discrete):
    """The distribution behind `wallenius_count`."""

    rv_op = wallenius_count_rv

    @classmethod
    def dist(cls, n_draws, n_relevant, n_documents, log_odds, *args, **kwargs):
        """Unnamed variable; integers become int64 and the log odds float64."""
        integers = [_int64(x) for x in (n_draws, n_relevant, n_documents)]
        return super().dist([*integers, _float64(log_odds)], *args, **kwargs)

    @staticmethod
    def support_point(
        rv: Any, size: Any, n_draws: Any, n_relevant: Any, n_documents: Any, log_odds: Any
    ):
        """Expected count at odds 1, a point of the support."""
        point = pt.cast(pt.round(n_draws * n_relevant / pt.maximum(n_documents, 1)), "int64")
        point = pt.clip(
            point, n_draws - (n_documents - n_relevant), pt.minimum(n_draws, n_relevant)
        )
        point = pt.broadcast_arrays(point, log_odds)[0]
        return point if rv_size_is_none(size) else pt.full(size, point)

    @staticmethod
    def logp(value: Any, n_draws: Any, n_relevant: Any, n_documents: Any, log_odds: Any):
        """Log pmf, one value per element of the broadcast arguments."""
        return _checked(WalleniusCountLogp(), value, n_draws, n_relevant, n_documents, log_odds)

    @staticmethod
    def logcdf(value: Any, n_draws: Any, n_relevant: Any, n_documents: Any, log_odds: Any):
        """Log cdf, one value per element of the broadcast arguments."""
        return _checked(WalleniusCountLogcdf(), value, n_draws, n_relevant, n_documents, log_odds)


def _checked(
    op: Op, value: Any, n_draws: Any, n_relevant: Any, n_documents: Any, log_odds: Any
) -> Any:
    """First output of the op for broadcast arguments, refused where no urn has the numbers."""
    arguments = pt.broadcast_arrays(value, n_draws, n_relevant, n_documents, log_odds)
    flat = [argument.reshape((-1,)) for argument in arguments]
    values: Any = op.make_node(*flat).outputs[0]
    result = values.reshape(arguments[0].shape, ndim=arguments[0].ndim)
    conditions: list[Any] = [pt.ge(n_relevant, 0), pt.le(n_relevant, n_documents)]
    conditions += [pt.ge(n_draws, 0), pt.le(n_draws, n_documents)]
    message = "0 <= n_relevant <= n_documents, 0 <= n_draws <= n_documents"
    return check_parameters(result, *conditions, msg=message)


def _int64(value):
    return value.astype("int64") if hasattr(value, "owner") else np.asarray(value, dtype=np.int64)


def _float64(value):
    return value if hasattr(value, "owner") else np.asarray(value, dtype=np.float64)
