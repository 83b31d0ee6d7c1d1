"""PyTensor operations for the likelihood of sequences; imported inside functions only."""

import zlib
from pathlib import Path
from typing import Any

import pytensor.tensor as pt
from pytensor.gradient import disconnected_type
from pytensor.graph.basic import Apply
from pytensor.graph.op import Op
from pytensor.link.numba.dispatch import basic as numba_basic

from bayeseval.distributions import (
    wallenius_sequence_kernel,
    wallenius_single_kernel,
    wallenius_topic_kernel,
)

# PyTensor keeps compiled functions on disk: a changed kernel must change their key.
KERNEL_VERSION = zlib.crc32(
    b"".join(
        Path(str(module.__file__)).read_bytes()
        for module in (wallenius_sequence_kernel, wallenius_single_kernel, wallenius_topic_kernel)
    )
)


class SequenceLogp(Op):
    """Log-likelihood of colours (row, rank) given log odds, N and M of each row; d/d log odds."""

    __props__ = ()

    def make_node(self, colour, log_odds, n_documents, n_relevant):
        """Node with colours as int8, the log odds as float64 and int64 numbers."""
        numbers = [pt.cast(x, "int64") for x in (n_documents, n_relevant)]
        inputs = [pt.cast(colour, "int8"), pt.cast(log_odds, "float64"), *numbers]
        return Apply(self, inputs, [pt.dvector(), pt.dvector()])

    def perform(self, node, inputs, output_storage):
        """Both vectors, outside numba."""
        outputs = wallenius_sequence_kernel.run_log_likelihoods(*inputs)
        for storage, value in zip(output_storage, outputs, strict=True):
            storage[0] = value

    def infer_shape(self, node, input_shapes):
        """Both outputs have one number a row."""
        return [input_shapes[1], input_shapes[1]]

    def connection_pattern(self, node):
        """Only the log-likelihood is connected, and only to the log odds."""
        return [[False, False], [True, False], [False, False], [False, False]]

    def pullback(self, inputs, outputs, cotangents):
        """Gradient with respect to the log odds: the second output of this very node."""
        change = pt.mul(cotangents[0], outputs[1])
        return [disconnected_type(), change, disconnected_type(), disconnected_type()]


@numba_basic.register_funcify_default_op_cache_key(SequenceLogp)
def _numba_sequence(op, node, **kwargs):
    kernel = wallenius_sequence_kernel.run_log_likelihoods

    @numba_basic.numba_njit
    def wallenius_sequence_logp(colour, log_odds, n_documents, n_relevant):
        return kernel(colour, log_odds, n_documents, n_relevant)

    return wallenius_sequence_logp, KERNEL_VERSION


class TopicLogp(Op):
    """Log-likelihood of topics (topic, run, rank), M summed out, and its two derivatives."""

    __props__ = ()

    def make_node(self, colour, log_odds, logit_prevalence, n_documents, likelihood_weight):
        """Node with colours as int8, float64 parameters and N as int64."""
        parameters = [pt.cast(x, "float64") for x in (log_odds, logit_prevalence)]
        fixed = [pt.cast(n_documents, "int64"), pt.cast(likelihood_weight, "float64")]
        inputs = [pt.cast(colour, "int8"), *parameters, *fixed]
        return Apply(self, inputs, [pt.dvector(), pt.dmatrix(), pt.dvector()])

    def perform(self, node, inputs, output_storage):
        """The three arrays, outside numba."""
        outputs = wallenius_topic_kernel.topic_log_likelihoods(*inputs)
        for storage, value in zip(output_storage, outputs, strict=True):
            storage[0] = value

    def infer_shape(self, node, input_shapes):
        """One number a topic, and one for each run of it."""
        return [input_shapes[2], input_shapes[1], input_shapes[2]]

    def connection_pattern(self, node):
        """Only the log-likelihood is connected, to log odds and logit prevalence."""
        connected, not_connected = [True, False, False], [False, False, False]
        return [not_connected, connected, connected, not_connected, not_connected]

    def pullback(self, inputs, outputs, cotangents):
        """Gradients: the other outputs of this very node."""
        cotangent: Any = cotangents[0]
        odds = pt.mul(cotangent[:, None], outputs[1])
        prevalence = pt.mul(cotangent, outputs[2])
        return [disconnected_type(), odds, prevalence, disconnected_type(), disconnected_type()]


@numba_basic.register_funcify_default_op_cache_key(TopicLogp)
def _numba_topic(op, node, **kwargs):
    kernel = wallenius_topic_kernel.topic_log_likelihoods

    @numba_basic.numba_njit
    def wallenius_topic_logp(colour, log_odds, logit_prevalence, n_documents, likelihood_weight):
        return kernel(colour, log_odds, logit_prevalence, n_documents, likelihood_weight)

    return wallenius_topic_logp, KERNEL_VERSION
