"""Pictures of runs with long names: no text is cut at the edge, and each name is told by itself."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
import xarray as xr
from matplotlib.text import Text

import bayeseval as be

RUNS = [
    f"a-university_sparse-and-dense-retrieval_reranked_{name}_final-version" for name in "abcdef"
]
KINDS = ("strata", "agreement", "runs")


def scores(shift=0.0, width=0.05, **attrs):
    """Scores with intervals of all runs."""
    estimate = np.linspace(0.3, 0.6, len(RUNS))[None] + shift
    return xr.Dataset(
        {
            "estimate": (("measure", "run"), estimate),
            "standard_error": (("measure", "run"), np.full_like(estimate, width)),
            "interval": (
                ("measure", "run", "ci_bound"),
                estimate[..., None] + width * np.array([-1.0, 1.0]),
            ),
        },
        coords={"measure": ["P@10"], "run": RUNS, "ci_bound": ["lower", "upper"]},
        attrs={"ci_prob": 0.9, "population": "topics"} | attrs,
    )


def by_topic():
    random = np.random.default_rng(1)
    values = np.linspace(0.3, 0.6, 6) + random.normal(0.0, 0.1, (1, 20, 6))
    found = {"estimate": (("measure", "topic", "run"), values)}
    coords = {"measure": ["P@10"], "run": RUNS, "topic": [str(number) for number in range(20)]}
    return xr.Dataset(found, coords=coords)


def intervals(population="topics"):
    over = {"population": population}
    several = {"assumed": scores(-0.2, np.nan, **over), "stat": scores(**over)}
    return be.plots.plot_intervals(several | {"dyn": scores(0.02, **over)})


def combined():
    parts = {"design": scores(width=0.1), "model": scores(0.05), "combined": scores(0.02)}
    table = xr.concat(parts.values(), "source").assign_coords(source=list(parts))
    unlike = np.where(np.arange(6) == 2, 0.9, 0.1)[None]
    table = table.assign(unlike_model=(("measure", "run"), unlike))
    table["truth"] = scores(0.01)["estimate"]
    table["interval"][0, 0, 0] += np.array([-0.0, 3.0])  # goes on
    return be.plots.plot_combined(table)


def judgments(kind):
    labels = {"strata": ["stratum 1"], "agreement": ["found by 3 to 4 runs"], "runs": RUNS}[kind]
    number = np.linspace(1.0, 400.0, len(labels))
    null = np.random.default_rng(1).normal(size=(len(labels), 50))
    seen = xr.Dataset(
        {
            "observed": ("group", number),
            "predicted": ("group", number),
            "difference": ("group", np.full(len(labels), 0.5)),
            "null": (("group", "replicate"), null),
        },
        coords={"kind": ("group", [kind] * len(labels)), "label": ("group", labels)},
    )
    return be.plots.plot_judgments(seen, kind)


def forest():
    draws = np.linspace(0.3, 0.6, 6) + np.random.default_rng(1).normal(0.0, 0.03, (2, 100, 1, 6))
    found = {"estimate": (("chain", "draw", "measure", "run"), draws)}
    post = xr.Dataset(found, coords={"measure": ["P@10"], "run": RUNS})
    return be.plots.plot_scores(post, backend="matplotlib").viz["figure"].item().axes[0]


PICTURES = {
    "intervals": intervals,
    "intervals over these topics": lambda: intervals("sample"),
    "combined": combined,
    "rank_sets": lambda: be.plots.plot_rank_sets(be.rank(by_topic(), top=2)),
    "better": lambda: be.plots.plot_better(be.rankings.rank_probabilities(by_topic())),
    "rank_probabilities": lambda: be.plots.plot_rank_probabilities(
        be.rankings.rank_probabilities(by_topic())
    ),
    "watched": lambda: be.plots.plot_watched({10: scores(), 20: scores()}),
    "bias_variance": lambda: be.plots.plot_bias_variance(
        {run: xr.Dataset({"bias": 0.1, "sigma": 0.1 * place}) for place, run in enumerate(RUNS)}
    ),
    "scores": forest,
} | {f"judgments of {kind}": lambda kind=kind: judgments(kind) for kind in KINDS}


@pytest.mark.parametrize("name", PICTURES)
def test_no_text_is_cut_at_the_edge_of_a_picture(name):
    figure = PICTURES[name]().figure
    figure.canvas.draw()
    width, height = figure.canvas.get_width_height()
    texts = [text for text in _drawn(figure) if text.get_visible() and text.get_text().strip()]
    assert texts
    for text in texts:
        box = text.get_window_extent()
        assert min(box.x0, box.y0) >= -1, text.get_text()
        assert box.x1 <= width + 1 and box.y1 <= height + 1, text.get_text()


def _drawn(figure):
    """Texts but for those of ticks outside the limits of their axes, which are not drawn."""
    hidden = set()
    for ax in figure.axes:
        for axis, limits in ((ax.xaxis, ax.get_xlim()), (ax.yaxis, ax.get_ylim())):
            for tick in [*axis.get_major_ticks(), *axis.get_minor_ticks()]:
                if not min(limits) - 1e-9 <= tick.get_loc() <= max(limits) + 1e-9:
                    hidden |= {tick.label1, tick.label2}
    return set(figure.findobj(Text)) - hidden


def test_long_names_lose_their_middle_and_stay_different():
    ax = intervals()
    labels = [label.get_text() for label in ax.get_yticklabels()]
    assert len(set(labels)) == len(RUNS)
    assert all(len(label) < 40 and "…" in label for label in labels)
    assert all(label.endswith(run[-15:]) for label, run in zip(labels, RUNS[::-1], strict=True))


def test_labels_of_a_forest_stand_at_the_axis():
    ax = forest()
    figure = ax.figure
    figure.canvas.draw()
    places = [text.get_window_extent().x1 for text in ax.texts]
    edge = figure.axes[-1].get_window_extent().x0
    assert all(0 <= edge - place < 0.03 * figure.canvas.get_width_height()[0] for place in places)
    plt.close(figure)
