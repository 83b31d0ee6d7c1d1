"""Reports: what an evaluation says, on one page of HTML that needs no other file."""

from bayeseval.report.evaluation import evaluation_page

__all__ = ["evaluation_page"]
