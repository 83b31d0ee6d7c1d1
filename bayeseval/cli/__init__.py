"""The command line, `bayeseval COMMAND`."""

from bayeseval.cli.application import main

__all__ = ["main"]
