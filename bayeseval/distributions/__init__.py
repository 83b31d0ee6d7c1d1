"""Wallenius' urn as a PyMC distribution, and its compiled likelihood and draws."""
