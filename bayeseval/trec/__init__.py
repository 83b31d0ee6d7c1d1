"""Files of TREC's formats to and from collections."""

from bayeseval.trec.adding import add_predictions, add_runs
from bayeseval.trec.frames import qrels_frame, runs_frame
from bayeseval.trec.qrels import read_qrels
from bayeseval.trec.reading import read_collection
from bayeseval.trec.writing import write_prels, write_probs, write_qrels, write_run, write_sampleval

__all__ = [
    "add_predictions",
    "add_runs",
    "read_collection",
    "qrels_frame",
    "read_qrels",
    "runs_frame",
    "write_prels",
    "write_probs",
    "write_qrels",
    "write_run",
    "write_sampleval",
]
