"""Wallenius' noncentral hypergeometric pmf by quadrature that follows the peak.

With m relevant and k non-relevant documents, x and y of them drawn, a = m - x, c = w (k - y) and
D = a + c, the substitution t = exp(-D s), s = exp(u) in Wallenius' integral gives

    P(x) = C(m, x) C(k, y) * integral over u of D s exp(-D s) (1 - exp(-s))^x (1 - exp(-w s))^y.

The logarithm of the integrand is concave in u for every w, and the integrand is analytic in
|Im u| < pi/2, so the trapezoid rule between two points at which it has vanished converges
exponentially. Peak and end points are found for each element.

First the kernels, then the PyTensor operations and the PyMC distribution that they serve. Imported
inside functions only.
"""

import math
import zlib
from pathlib import Path
from typing import Any

import numba
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

# PyTensor keeps compiled functions on disk: a changed kernel must change their key.
KERNEL_VERSION = zlib.crc32(Path(__file__).read_bytes())
# Nodes of the trapezoid rule, and how far the log integrand has fallen at the first and last one.
N_NODES = 161
FALL = 38.0
# Beyond this the log pmf is a straight line in the log odds to machine precision.
LARGEST_LOG_ODDS = 300.0

_compiled = numba.njit(cache=True, nogil=True)


@_compiled
def _log_one_minus_exp(value):
    """log(1 - exp(-value)) for value above 0, without cancellation at either end."""
    if value < 0.6931471805599453:
        return math.log(-math.expm1(-value))
    return math.log1p(-math.exp(-value))


@_compiled
def _bose(value):
    """Value / (exp(value) - 1), 1 at 0."""
    if value > 700.0:
        return 0.0
    return value / math.expm1(value) if value > 0.0 else 1.0


@_compiled
def _log_integrand(u, relevant, other, left, odds):
    s = math.exp(u)
    total = u - left * s
    if relevant > 0:
        total += relevant * _log_one_minus_exp(s)
    if other > 0:
        total += other * _log_one_minus_exp(odds * s)
    return total


@_compiled
def _peak(relevant, other, left, odds):
    """U at which the log integrand is largest: its slope falls from 1 + x + y to minus infinity."""
    # s / (exp(s) - 1) lies between 1 - s / 2 and 1, which bounds the peak on both sides.
    draws = 1.0 + relevant + other
    low = math.log(draws / (left + 0.5 * (relevant + other * odds)))
    high = math.log(draws / left)
    for _ in range(60):
        u = 0.5 * (low + high)
        s = math.exp(u)
        if 1.0 - left * s + relevant * _bose(s) + other * _bose(odds * s) > 0.0:
            low = u
        else:
            high = u
        if high - low < 1e-3:
            break
    return 0.5 * (low + high)


@_compiled
def _end(peak, direction, relevant, other, left, odds):
    """Point on one side of the peak where the log integrand has fallen by FALL to FALL + 10 %."""
    floor = _log_integrand(peak, relevant, other, left, odds) - FALL
    # Double the step until it is far enough, then halve the interval.
    near, step = 0.0, 0.25
    while _log_integrand(peak + direction * step, relevant, other, left, odds) > floor:
        near, step = step, 2.0 * step
    far = step
    while far - near > 0.02 * far:
        middle = 0.5 * (near + far)
        if _log_integrand(peak + direction * middle, relevant, other, left, odds) > floor:
            near = middle
        else:
            far = middle
    return peak + direction * far


@_compiled
def _log_choose(total, chosen):
    return math.lgamma(total + 1.0) - math.lgamma(chosen + 1.0) - math.lgamma(total - chosen + 1.0)


@_compiled
def log_pmf(count, n_draws, n_relevant, n_documents, log_odds):
    """Log pmf of one count, and its derivative with respect to the log odds.

    NaN outside the range of the parameters, minus infinity (derivative 0) outside the support.
    """
    n_other = n_documents - n_relevant
    if not (0 <= n_relevant <= n_documents and 0 <= n_draws <= n_documents) or math.isnan(log_odds):
        return math.nan, math.nan
    lowest, highest = max(0, n_draws - n_other), min(n_draws, n_relevant)
    if count < lowest or count > highest:
        return -math.inf, 0.0
    if lowest == highest:
        return 0.0, 0.0
    # Peak, both ends and the width of a step.
    inner = min(max(log_odds, -LARGEST_LOG_ODDS), LARGEST_LOG_ODDS)
    odds = math.exp(inner)
    drawn_other = n_draws - count
    weight_other = odds * (n_other - drawn_other)
    left = n_relevant - count + weight_other
    peak = _peak(count, drawn_other, left, odds)
    start = _end(peak, -1.0, count, drawn_other, left, odds)
    width = (_end(peak, 1.0, count, drawn_other, left, odds) - start) / (N_NODES - 1)
    top = _log_integrand(peak, count, drawn_other, left, odds)
    # Trapezoid rule, relative to the peak; the slope is the mean of d log integrand / d log w under
    # the integrand, to which the factor D adds w (k - y) / D.
    total, slope = 0.0, 0.0
    for node in range(N_NODES):
        u = start + node * width
        s = math.exp(u)
        value = math.exp(_log_integrand(u, count, drawn_other, left, odds) - top)
        total += value
        slope += value * (drawn_other * _bose(odds * s) - weight_other * s)
    result = math.log(left * width * total) + top
    result += _log_choose(n_relevant, count) + _log_choose(n_other, drawn_other)
    slope = slope / total + weight_other / left
    return result + slope * (log_odds - inner), slope


@_compiled
def log_pmfs(count, n_draws, n_relevant, n_documents, log_odds):
    """Log pmf and its derivative, element by element of five vectors."""
    value, slope = np.empty(count.size), np.empty(count.size)
    for i in range(count.size):
        value[i], slope[i] = log_pmf(
            count[i], n_draws[i], n_relevant[i], n_documents[i], log_odds[i]
        )
    return value, slope


@_compiled
def _log_tail(first, step, last, n_draws, n_relevant, n_documents, log_odds):
    """Log of the sum of the pmf from one count to another, and its derivative.

    The pmf is taken to have one peak: the sum is over once a term is lost in it.
    """
    best, total, slope = -math.inf, 0.0, 0.0
    for count in range(first, last + step, step):
        value, change = log_pmf(count, n_draws, n_relevant, n_documents, log_odds)
        # Relative to the largest term so far.
        if value > best:
            share = math.exp(best - value)
            best, total, slope = value, total * share, slope * share
        term = math.exp(value - best)
        total, slope = total + term, slope + term * change
        if term < 1e-18 * total:
            break
    return best + math.log(total), slope / total


@_compiled
def log_cdf(count, n_draws, n_relevant, n_documents, log_odds):
    """Log probability of at most this count, and its derivative with respect to the log odds."""
    n_other = n_documents - n_relevant
    if not (0 <= n_relevant <= n_documents and 0 <= n_draws <= n_documents) or math.isnan(log_odds):
        return math.nan, math.nan
    lowest, highest = max(0, n_draws - n_other), min(n_draws, n_relevant)
    if count < lowest:
        return -math.inf, 0.0
    if count >= highest:
        return 0.0, 0.0
    # The sum above the count, and 1 less that, unless that would cancel.
    above, slope = _log_tail(count + 1, 1, highest, n_draws, n_relevant, n_documents, log_odds)
    if above < -0.7:
        return math.log1p(-math.exp(above)), -slope * math.exp(above) / -math.expm1(above)
    return _log_tail(count, -1, lowest, n_draws, n_relevant, n_documents, log_odds)


@_compiled
def log_cdfs(count, n_draws, n_relevant, n_documents, log_odds):
    """Log cdf and its derivative, element by element of five vectors."""
    value, slope = np.empty(count.size), np.empty(count.size)
    for i in range(count.size):
        value[i], slope[i] = log_cdf(
            count[i], n_draws[i], n_relevant[i], n_documents[i], log_odds[i]
        )
    return value, slope


@_compiled
def random_count(rng, n_draws, n_relevant, n_documents, log_odds):
    """Number of relevant documents among `n_draws` draws, one draw after the other."""
    odds = math.exp(log_odds)
    relevant, other = n_relevant, n_documents - n_relevant
    for _ in range(n_draws):
        if rng.random() * (relevant + odds * other) < relevant or other == 0:
            relevant -= 1
        else:
            other -= 1
    return n_relevant - relevant


@_compiled
def random_counts(rng, n_draws, n_relevant, n_documents, log_odds):
    """Random counts, element by element of four vectors."""
    count = np.empty(n_draws.size, dtype=np.int64)
    for i in range(count.size):
        count[i] = random_count(rng, n_draws[i], n_relevant[i], n_documents[i], log_odds[i])
    return count


class KernelOp(Op):
    """Operation whose outputs a compiled kernel returns: log probabilities, and their derivatives.

    Only the log probabilities are connected, and only to the inputs by which there is a derivative.
    """

    __props__ = ()
    kernel: Any
    version = KERNEL_VERSION
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
            cotangent = padded(cotangents[0], self.outputs[number][0] - 1)
            gradients[place] = pt.mul(cotangent, outputs[number])
        return gradients


@numba_basic.register_funcify_default_op_cache_key(KernelOp)
def _numba_outputs(op, node, **kwargs):
    kernel = op.kernel

    @numba_basic.numba_njit
    def wallenius_outputs(*inputs):
        return kernel(*inputs)

    return wallenius_outputs, op.version


class WalleniusCountLogp(KernelOp):
    """Log pmf of vectors (count, draws, relevant, documents, log odds), and d/d log odds."""

    kernel = staticmethod(log_pmfs)
    dtypes = ("int64", "int64", "int64", "int64", "float64")
    outputs = ((1, 0), (1, 0))
    slopes = {4: 1}


class WalleniusCountLogcdf(WalleniusCountLogp):
    """Log cdf of the same vectors, and d/d log odds."""

    kernel = staticmethod(log_cdfs)


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
        return random_counts(rng, draws, relevant, documents, odds).reshape(shape)[()]


@numba_core_rv_funcify.register(WalleniusCountRV)
def _numba_random(op, node):
    @numba_basic.numba_njit
    def random(rng, n_draws, n_relevant, n_documents, log_odds):
        return random_count(rng, n_draws, n_relevant, n_documents, log_odds)

    return random, KERNEL_VERSION


class WalleniusCount(pm.Discrete):
    """The distribution behind `wallenius_count`."""

    rv_op = WalleniusCountRV()

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


def padded(value: Any, n_dims: int = 1) -> Any:
    """With dims of length one after the last."""
    return value[(..., *[None] * n_dims)]
