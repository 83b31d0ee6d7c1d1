"""How well labels agree with judgments: against tables by hand, over samples, and refusals."""

import numpy as np
import pandas as pd
import pytest

import bayeseval as be


def labelled_world(seed, n_topics=12, budget=30):
    """Graded collection, labels that are wrong more often on some topics, and a sample of it."""
    random = np.random.default_rng(seed)
    collection = be.simulate.urn_collection(
        [0.05, 0.1, 0.3],
        n_topics=n_topics,
        n_documents=150,
        prevalence=0.1,
        grade_proportions=[0.6, 0.4],
        random_seed=seed,
    )
    pairs = be.trec.qrels_frame(collection)
    topic = pd.factorize(pairs["topic"])[0]
    right = random.beta(8.0, 2.0, n_topics)[topic] > random.random(len(pairs))
    pairs["label"] = np.where(right, pairs["grade"], random.integers(0, 3, len(pairs)))
    whole = be.add_predictions(collection, "llm", pairs[["topic", "document", "label"]])
    design = be.designs.pps_strata(whole, budget=budget)
    return whole, be.reveal(whole, design, be.draw(design, random_seed=seed)), pairs


@pytest.fixture(scope="module")
def world():
    return labelled_world(1)


def quantities(table: pd.DataFrame) -> dict[str, float]:
    """Agreement of a table of relevance (row) and labels (column), both False or True."""
    share = table / table.to_numpy().sum()
    row, column = share.sum(axis=1), share.sum(axis=0)
    agreement = share.loc[True, True] + share.loc[False, False]
    chance = row[True] * column[True] + row[False] * column[False]
    return {
        "agreement": agreement,
        "kappa": (agreement - chance) / (1 - chance),
        "sensitivity": share.loc[True, True] / row[True],
        "specificity": share.loc[False, False] / row[False],
        "precision": share.loc[True, True] / column[True],
        "prevalence": row[True],
        "label_prevalence": column[True],
    }


@pytest.mark.parametrize("level", [1, 2])
def test_with_complete_judgments_all_is_as_in_the_cross_table(world, level):
    whole, _, pairs = world
    found = be.label_agreement(whole, relevance_level=level)
    by_hand = pd.crosstab(pairs["grade"] >= level, pairs["label"] >= level)
    assert found.estimate.to_series().to_dict() == pytest.approx(quantities(by_hand))
    counts = pd.crosstab(pairs["grade"], pairs["label"])
    np.testing.assert_array_equal(found.number, counts)
    np.testing.assert_allclose(found.share, counts / len(pairs))
    np.testing.assert_allclose(found.rate, counts.div(counts.sum(axis=1), axis=0))
    assert (found.attrs["judge"], found.attrs["label_level"]) == ("llm", level)


def test_a_judged_document_stands_for_those_of_its_probability(world):
    _, sampled, _ = world
    table = pd.DataFrame(
        {
            "grade": sampled["judgments/grade"].to_numpy(),
            "label": sampled["predictors/llm"].to_numpy(),
            "weight": 1.0 / sampled["design/inclusion_probability"].to_numpy(),
        }
    ).dropna()
    relevant, said = table["grade"] >= 1, table["label"] >= 1
    weighted = table["weight"].groupby([relevant, said]).sum().unstack()
    found = be.label_agreement(sampled, "llm")
    assert found.estimate.to_series().to_dict() == pytest.approx(quantities(weighted))
    assert int(found.number.sum()) == len(table)
    # leaving out each topic, by hand
    topic = sampled["topic"].to_numpy()[sampled["pair_topic"].to_numpy()[table.index]]
    without = [
        quantities(table["weight"][topic != one].groupby([relevant, said]).sum().unstack())
        for one in sampled["topic"].to_numpy()
    ]
    error = pd.DataFrame(without).std(ddof=0) * np.sqrt(len(without) - 1)
    assert found.standard_error.to_series().to_dict() == pytest.approx(error.to_dict())


def test_over_samples_numbers_are_those_of_all_documents_and_intervals_hold():
    away, inside = [], []
    for seed in range(60):
        whole, sampled, _ = labelled_world(seed, n_topics=20)
        truth, found = be.label_agreement(whole).estimate, be.label_agreement(sampled)
        away.append(((found.estimate - truth) / found.standard_error).to_numpy())
        low, high = found.interval.to_numpy().T
        inside.append((low <= truth) & (truth <= high))
    assert (np.abs(np.mean(away, axis=0)) < 4.0 * np.std(away, axis=0) / np.sqrt(60)).all()
    assert (np.mean(inside, axis=0) > 0.85).all()
    assert np.mean(inside) < 0.99


def test_a_share_of_one_is_not_certain():
    pairs = pd.DataFrame({"topic": np.repeat(list("1234"), 5), "document": list("abcde") * 4})
    grade = np.tile([1, 0, 0, 0, 0], 4)
    known = be.read_collection(pairs.assign(grade=grade))
    found = be.label_agreement(be.add_predictions(known, "llm", pairs.assign(label=grade)))
    assert found.estimate.sel(quantity="sensitivity") == 1.0
    low, high = found.interval.sel(quantity="sensitivity").to_numpy()
    assert (low, high) == (pytest.approx(0.05 ** (1 / 4)), 1.0)  # four of four documents
    low, _ = found.interval.sel(quantity="specificity").to_numpy()
    assert low == pytest.approx(0.05 ** (1 / 16))
    # kappa is as sure as the agreement: of 0.8^2 + 0.2^2 by chance
    low, high = found.interval.sel(quantity="kappa").to_numpy()
    assert (low, high) == (pytest.approx((0.05 ** (1 / 20) - 0.68) / 0.32), 1.0)


def test_a_judge_who_labels_all_alike_may_be_better_than_chance():
    pairs = pd.DataFrame({"topic": np.repeat(list("1234"), 5), "document": list("abcde") * 4})
    known = be.read_collection(pairs.assign(grade=np.tile([1, 0, 0, 0, 0], 4)))
    found = be.label_agreement(be.add_predictions(known, "llm", pairs.assign(label=0)))
    assert found.estimate.sel(quantity="kappa") == pytest.approx(0.0)
    low, high = found.interval.sel(quantity="kappa").to_numpy()
    assert low < -0.5 and high > 0.3


def test_many_labels_are_two_in_the_table(world):
    whole, sampled, pairs = world
    chance = np.clip(pairs["label"] / 2 + np.linspace(-0.1, 0.1, len(pairs)), 0.0, 1.0)
    asked = be.add_predictions(sampled, "p", pairs[["topic", "document"]].assign(label=chance))
    with pytest.raises(ValueError, match="name the labels: there are llm, p"):
        be.label_agreement(asked)
    found = be.label_agreement(asked, "p")
    assert found.attrs["label_level"] == 0.5
    np.testing.assert_array_equal(found.label, [0.0, 1.0])
    assert found.share.sel(label=1.0).sum() == pytest.approx(
        float(found.estimate.sel(quantity="label_prevalence"))
    )
    higher = be.label_agreement(asked, "p", label_level=0.95).estimate
    assert float((higher - found.estimate).sel(quantity="label_prevalence")) < -0.01


def test_documents_without_a_label_are_left_out_and_counted(world):
    whole, sampled, pairs = world
    some = pairs[["topic", "document", "label"]].assign(
        label=pairs["label"].where(np.arange(len(pairs)) % 10 > 0)
    )
    found = be.label_agreement(be.add_predictions(sampled, "some", some), "some")
    n_judged = int(sampled["judgments/grade"].notnull().sum())
    assert found.attrs["unlabelled"] > 0
    assert int(found.number.sum()) == n_judged - found.attrs["unlabelled"]


def test_what_cannot_be_told_is_nan_or_refused(world):
    whole, sampled, pairs = world
    one = be.label_agreement(be.select(sampled, topics=["1"]))
    assert one.estimate.notnull().all()
    assert one.standard_error.isnull().all() and one.interval.isnull().all()
    nothing = be.label_agreement(sampled, relevance_level=3)  # no such grade
    assert np.isnan(nothing.estimate.sel(quantity="sensitivity"))
    assert nothing.estimate.sel(quantity="prevalence") == 0.0
    plain = be.read_collection(pairs[["topic", "document", "grade"]])
    with pytest.raises(ValueError, match="has no labels; be.add_predictions adds them"):
        be.label_agreement(plain)
    with pytest.raises(ValueError, match="no labels named 'gpt'"):
        be.label_agreement(sampled, "gpt")
    with pytest.raises(ValueError, match="name must be that of labels, not 5"):
        be.label_agreement(sampled, 5)
    for level in (np.nan, "1"):
        with pytest.raises(ValueError, match="label_level must be a finite number, not"):
            be.label_agreement(sampled, label_level=level)
    with pytest.raises(ValueError, match="relevance_level is '1'; allowed: a whole number"):
        be.label_agreement(sampled, relevance_level="1")
    design = be.designs.pps_strata(whole, budget=30)
    several = be.reveal(whole, design, be.draw(design, n_replicates=2, random_seed=1))
    with pytest.raises(ValueError, match="compared with one sample"):
        be.label_agreement(several)
    judged = be.trec.qrels_frame(sampled).query("grade >= 0")
    others = pairs.merge(judged[["topic", "document"]], how="left", indicator=True)
    others = others.loc[others["_merge"] == "left_only", ["topic", "document", "label"]]
    with pytest.raises(ValueError, match="no judged document has a label of 'others'"):
        be.label_agreement(be.add_predictions(sampled, "others", others), "others")


def test_draws_with_replacement_count_by_how_often_they_fell(world):
    whole, _, _ = world
    design = be.designs.with_replacement(whole, budget=30)
    sampled = be.reveal(whole, design, be.draw(design, random_seed=1))
    found = be.label_agreement(sampled)
    table = pd.DataFrame(
        {
            "topic": sampled["pair_topic"].to_numpy(),
            "count": sampled["judgments/draw_count"].to_numpy(),
            "grade": sampled["judgments/grade"].to_numpy(),
            "label": sampled["predictors/llm"].to_numpy(),
            "chance": sampled["design/draw_probability"].to_numpy(),
        }
    ).query("count > 0")
    draws = table.groupby("topic")["count"].transform("sum")
    table["weight"] = table["count"] / draws / table["chance"]
    weighted = table["weight"].groupby([table["grade"] >= 1, table["label"] >= 1]).sum().unstack()
    assert found.estimate.to_series().to_dict() == pytest.approx(quantities(weighted))
    assert found.interval.notnull().all()


def test_the_level_of_labels_is_told_by_those_of_unjudged_documents_too(world):
    _, sampled, pairs = world
    judged = be.trec.qrels_frame(sampled).query("grade >= 0")[["topic", "document"]]
    seen = pairs.merge(judged, how="left", indicator=True)["_merge"].to_numpy() == "both"
    label = np.where(seen, np.minimum(pairs["label"], 1), pairs["label"])
    low = be.add_predictions(sampled, "low", pairs[["topic", "document"]].assign(label=label))
    found = be.label_agreement(low, "low", relevance_level=2)
    assert found.attrs["label_level"] == 2.0
    assert found.estimate.sel(quantity="label_prevalence") == 0.0
