"""Measures by name: what is understood, how it is labelled, what is refused."""

import ir_measures
import numpy as np
import pytest
import xarray as xr

from bayeseval.measures.measure import relevance
from bayeseval.measures.names import parse_measures

LABELS = [
    ("P@10", "P@10"),
    (" P@10 ", "P@10"),
    ("Precision@5", "P@5"),
    ("P(rel=2)@10", "P(rel=2)@10"),
    ("RBP", "RBP(p=0.8)"),
    ("RBP(p=0.95)@10", "RBP(p=0.95)@10"),
    ("RBP(rel=2, p=0.5)", "RBP(p=0.5,rel=2)"),
    ("DCG", "DCG"),
    ("DCG@20", "DCG@20"),
    ("DCG(dcg='exp-log2')@20", "DCG(dcg='exp-log2')@20"),
    ("nDCG@10", "nDCG@10"),
    ("nDCG(gains={2: 3, 1: 1})@10", "nDCG(gains={1:1,2:3})@10"),
    ("MAP", "AP"),
    ("AP(rel=1)", "AP"),
    ("AP(rel=2)@100", "AP(rel=2)@100"),
    ("RPrec", "Rprec"),
    ("Recall@100", "R@100"),
    ("MRR@10", "RR@10"),
    ("Success@5", "Success@5"),
    ("BPref", "Bpref"),
    ("infAP(rel=2)", "infAP(rel=2)"),
    ("Judged", "Judged"),
    ("NumRel", "NumRel"),
    ("NumRet", "NumRet"),
    ("NumRet(rel=1)", "NumRelRet"),
    ("NumRelRet(rel=2)", "NumRelRet(rel=2)"),
    (ir_measures.RBP(p=0.5) @ 20, "RBP(p=0.5)@20"),
    (ir_measures.NumRelRet, "NumRelRet"),
    (ir_measures.nDCG @ 10, "nDCG@10"),
    ("SetP(relative=False)", "SetP"),
    ("SetR(rel=2)", "SetR(rel=2)"),
    ("setf", "SetF"),
    ("SetF(rel=2, beta=2)", "SetF(beta=2,rel=2)"),
    (ir_measures.SetF(beta=0.5), "SetF(beta=0.5)"),
    ("IPrec@0.1", "IPrec@0.1"),
    ("IPrec(recall=1, rel=2)", "IPrec(rel=2)@1"),
    (ir_measures.IPrec @ 0.25, "IPrec@0.25"),
    ("setap(rel=1)", "SetAP"),
    ("SetRelP", "SetP(relative=True)"),
    ("Compat(normalize=True, p=0.8)", "Compat(p=0.8)"),
    ("Accuracy(rel=2)@5", "Accuracy(rel=2)@5"),
    ("BPM(max_rel=3, T=2)@10", "BPM(T=2.0,max_rel=3)@10"),
    (ir_measures.NumQ, "NumQ"),
]

REFUSED = [
    (
        "Precis@10",
        r"'Precis@10' does not exist; did you mean P@10. There are P@10, RBP\(p=0\.8\), DCG@20",
    ),
    ("SetX", "'SetX' does not exist; did you mean Set"),
    ("latency", "does not exist; there are P@10, .*, and by estimator 'assumed' .*: Accuracy, BPM"),
    ("alpha_nDCG@10", "'alpha_nDCG@10' needs judgments by subtopic"),
    ("SetAP@10", "has no parameter cutoff; SetAP knows these: rel"),
    ("SetP@10", "has no parameter cutoff; SetP knows these: rel"),
    ("SetP(relative=2)", "relative must be of type bool, not 2"),
    ("SetAP(judged_only=True)", "judged_only, which is not a parameter here"),
    ("SetAP(rel=0)", "rel must be a whole number, 1 or more, not 0"),
    ("Compat(p=2.0)", r"p=2\.0, the probability of going on"),
    ("INST(T=-1, max_rel=2)", "T must be a number, 0 or more, not -1"),
    ("INST(min_rel=2, max_rel=2)", "max_rel must be above min_rel"),
    ("SetF(beta=-1)", "beta=-1, the weight of recall beside precision, which must be 0 or more"),
    ("IPrec", r"needs a recall, such as IPrec@0\.1"),
    ("IPrec@1.5", r"recall=1\.5, which must lie between 0 and 1"),
    ("xinfAP", "xinfAP of sample_eval is AP by estimator='inf'"),
    ("infndcg", "infNDCG of sample_eval is nDCG by estimator='inf'"),
    (ir_measures.BPM @ 20, r"'BPM@20' needs max_rel, such as BPM\(max_rel=3\)"),
    ("AP(rel=2", "cannot be read; write each measure by itself, as NAME"),
    ("P@10 AP", "cannot be read"),
    ("P@ten", "cannot be read"),
    ("P(10)", "cannot be read"),
    ("", "cannot be read"),
    ("P@-1", "cutoff must be a whole number, 1 or more, not -1"),
    ("nDCG(gains={1: -2})", "grade 1 has gain -2; a gain is a number, 0 or more"),
    ("P", r"needs a cutoff, such as P@10\."),
    ("R", r"needs a cutoff, such as R@10\."),
    ("P@0", "cutoff must be a whole number, 1 or more, not 0"),
    ("nDCG@True", "cutoff must be a whole number"),
    ("P(rel=0)@5", "rel must be a whole number, 1 or more, not 0"),
    ("AP(rel=1.5)", "rel must be a whole number, 1 or more, not 1.5"),
    ("RBP(p=1)", "p=1, the probability of going on .* between 0 and 1"),
    ("RBP(p=0.0)", r"p=0\.0"),
    ("RBP(p='a')", "p=a"),
    ("RBP(p=None)", "p=None"),
    ("Bpref@10", "has no parameter cutoff; Bpref knows these: rel"),
    ("NumRet@10", "has no parameter cutoff; NumRet knows these: none"),
    ("nDCG(dcg='ln')", "dcg='ln'; allowed are"),
    ("nDCG(judged_only=True)@5", "judged_only, which is not a parameter here"),
    ("nDCG(gains=3)", "gain must be a dict"),
]


@pytest.mark.parametrize(("written", "label"), LABELS, ids=[label for _, label in LABELS])
def test_a_measure_has_one_canonical_label(written, label):
    assert [measure.label for measure in parse_measures(written)] == [label]
    if isinstance(written, str):
        assert parse_measures([label]) == parse_measures([written])


@pytest.mark.parametrize(("written", "message"), REFUSED, ids=[str(text) for text, _ in REFUSED])
def test_a_bad_measure_is_refused_in_one_sentence(written, message):
    with pytest.raises(ValueError, match=message) as caught:
        parse_measures(["AP", written])
    assert "\n" not in str(caught.value)


def test_labels_of_results_are_measures():
    names = ["P@10", "RBP(p=0.8)"]
    labels = xr.DataArray(names, {"measure": names}, ["measure"])
    assert parse_measures(labels) == parse_measures(labels.to_numpy()) == parse_measures(names)
    assert parse_measures(labels[1]) == parse_measures("RBP(p=0.8)")


def test_what_is_no_measure_at_all_is_a_type_error():
    with pytest.raises(TypeError, match="5 is neither"):
        parse_measures(5)
    with pytest.raises(ValueError, match="measures is empty"):
        parse_measures([])
    with pytest.raises(ValueError, match="AP is listed twice"):
        parse_measures(["AP", "P@10", "MAP"])


def test_every_measure_has_its_kind():
    kinds = {
        "linear": ["P@10", "RBP", "DCG", "NumRelRet"],
        "count": ["NumRel"],
        "ratio": ["AP", "nDCG", "Rprec", "R@10"],
        "list": ["RR", "Success@1", "ERR@10", "SetP", "SetR", "SetF", "IPrec@0.1"],
        "preference": ["Bpref", "infAP", "Judged", "NumRet"],
        "provided": ["SetAP", "Compat", "SetP(relative=True)"],
    }
    for kind, names in kinds.items():
        assert [measure.kind for measure in parse_measures(names)] == [kind] * len(names)


def test_rel_in_a_measure_wins_over_the_relevance_level():
    names = ["AP", "AP(rel=1)", "NumRelRet", "nDCG@10", "SetAP", "SetAP(rel=1)", "Compat"]
    labels = [measure.label for measure in parse_measures(names, relevance_level=2)]
    assert labels == [
        *("AP(rel=2)", "AP", "NumRelRet(rel=2)", "nDCG@10"),
        *("SetAP(rel=2)", "SetAP", "Compat"),
    ]
    with pytest.raises(ValueError, match="relevance_level is .*; allowed: a whole number, 1"):
        parse_measures("AP", relevance_level=0)


def test_a_gain_makes_rbp_graded_unless_it_states_rel():
    plain, graded, level = (
        parse_measures("RBP(p=0.5)")[0],
        parse_measures("RBP(p=0.5)", gain={1: 0.5, 2: 1.0})[0],
        parse_measures("RBP(p=0.5, rel=2)", gain={1: 0.5, 2: 1.0})[0],
    )
    assert (plain.graded, graded.graded, level.graded) == (False, True, False)
    assert plain.label == graded.label == "RBP(p=0.5)"
    assert graded.gains == ((1.0, 0.5), (2.0, 1.0))


def test_a_callable_gain_is_tabulated_at_the_grades_that_occur():
    measure = parse_measures("RBP", gain=lambda grade: grade / 2, grades=[0, 1, 2, np.nan])[0]
    assert measure.gains == ((0.0, 0.0), (1.0, 0.5), (2.0, 1.0))
    with pytest.raises(ValueError, match="give grades"):
        parse_measures("RBP", gain=lambda grade: grade / 2)


def test_a_gain_below_zero_is_refused():
    with pytest.raises(ValueError, match="grade 1 has gain -1"):
        parse_measures("DCG", gain={1: -1})


def test_gains_in_a_measure_win_over_the_gain_of_the_call():
    measure = parse_measures("DCG(gains={2: 3})", gain={2: 7})[0]
    assert measure.gains == ((2.0, 3.0),)


def test_relevance_of_a_grade():
    grade = np.array([np.nan, -1.0, 0.0, 1.0, 2.0], dtype=np.float32)
    expected = {
        "AP": [np.nan, 0, 0, 1, 1],
        "AP(rel=2)": [np.nan, 0, 0, 0, 1],
        "DCG": [np.nan, 0, 0, 1, 2],
        "nDCG(gains={2: 5})": [np.nan, 0, 0, 1, 5],
        "nDCG(dcg='exp-log2')": [np.nan, 0, 0, 1, 3],
    }
    for name, values in expected.items():
        np.testing.assert_array_equal(relevance(parse_measures(name)[0], grade), values)


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        ("map", "AP"), ("ndcg_cut_10", "nDCG@10"), ("P_10", "P@10"), ("recip_rank", "RR"),
        ("recall_100", "R@100"), ("Rprec", "Rprec"), ("success_5", "Success@5"),
        ("num_rel_ret", "NumRelRet"), ("map_cut_100", "AP@100"), ("ndcg", "nDCG"),
        ("precision@5", "P@5"), ("mrr@10", "RR@10"), ("hit_rate@3", "Success@3"),
        ("rbp.95", "RBP(p=0.95)"), ("ndcg_burges@10", "nDCG(dcg='exp-log2')@10"),
        ("set_P", "SetP"), ("set_recall", "SetR"), ("set_F", "SetF"),
        ("iprec_at_recall_0.10", "IPrec@0.1"),
        ("NDCG@10", "nDCG@10"), ("ap(rel=2)", "AP(rel=2)"), ("RBP(p=0.9)@20", "RBP(p=0.9)@20"),
    ],
)  # fmt: skip
def test_names_of_trec_eval_and_ranx_are_read_in_any_case(theirs, ours):
    for text in (theirs, theirs.upper() if "(" not in theirs else theirs):
        assert [measure.label for measure in parse_measures(text)] == [ours]


@pytest.mark.parametrize(
    ("text", "meant"),
    [("nDGC@10", "nDCG@10"), ("presicion@5", "P@5"), ("ndcg_cu_10", "nDCG@10"), ("MAPP", "AP")],
)
def test_a_misspelt_measure_is_guessed(text, meant):
    with pytest.raises(ValueError, match=f"'{text}' does not exist; did you mean {meant}\\? There"):
        parse_measures(text)
