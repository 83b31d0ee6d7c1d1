"""Reports: an evaluation on one page of HTML that needs no other file."""

from bayeseval.reporting.evaluation import evaluation_page

__all__ = ["evaluation_page"]
