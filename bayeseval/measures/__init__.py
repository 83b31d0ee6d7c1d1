"""Measures of a ranking: their names, their weights and their plain scores."""
