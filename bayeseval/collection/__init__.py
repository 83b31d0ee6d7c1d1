"""Collections: topics, runs and topic-document pairs in one tree of labelled arrays."""

from bayeseval.collection.labels import pair_positions, topic_order, topic_starts
from bayeseval.collection.pairs import add_pairs, select
from bayeseval.collection.schema import assemble, check_collection, check_one_sample, with_node
from bayeseval.collection.storage import open_collection, save_collection

__all__ = [
    "add_pairs",
    "assemble",
    "check_collection",
    "check_one_sample",
    "open_collection",
    "pair_positions",
    "save_collection",
    "select",
    "topic_order",
    "topic_starts",
    "with_node",
]
