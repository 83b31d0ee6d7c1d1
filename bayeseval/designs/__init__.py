"""Designs: which documents are judged, with which probability."""

from bayeseval.designs.adaptive import hedge, move_to_front, next_documents
from bayeseval.designs.attach import attach_judgments, reveal
from bayeseval.designs.draw import draw, to_judge
from bayeseval.designs.dynamic import dynamic_stage, with_stage_predictions
from bayeseval.designs.files import read_design, save_design
from bayeseval.designs.order import extend, order
from bayeseval.designs.poisson import poisson
from bayeseval.designs.pooling import depth_pool
from bayeseval.designs.stratified import pps_strata, uniform_strata
from bayeseval.designs.with_replacement import with_replacement

__all__ = [
    "attach_judgments",
    "depth_pool",
    "draw",
    "dynamic_stage",
    "extend",
    "hedge",
    "move_to_front",
    "next_documents",
    "order",
    "poisson",
    "pps_strata",
    "read_design",
    "reveal",
    "save_design",
    "to_judge",
    "uniform_strata",
    "with_replacement",
    "with_stage_predictions",
]
