"""Possible ranks

With 90 % probability all bars contain the ranks of their runs at once. Every run of a shaded
group is better than every run of the next group.
"""

sets = be.rankings.rank_sets(combined, simultaneous=True)
axes = be.plots.plot_rank_sets(sets)
