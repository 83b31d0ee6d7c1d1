"""Command line: `bayeseval evaluate`, `sample` and `demo`."""

from bayeseval.cli.application import main

__all__ = ["main"]
