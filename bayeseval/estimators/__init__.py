"""Estimators: what was seen becomes an estimated relevance per document."""
