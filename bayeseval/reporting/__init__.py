"""Reports: an evaluation on one page of HTML that needs no other file."""

from bayeseval.reporting.description import about
from bayeseval.reporting.evaluation import report

__all__ = ["about", "report"]
