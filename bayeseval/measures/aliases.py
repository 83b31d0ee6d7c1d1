"""Names that other evaluators have for the measures: those of trec_eval and ranx, in any case."""

import re
from difflib import get_close_matches

from bayeseval.measures.table import MEASURES

# lower-case name -> name here and parameters
ALIASES: dict[str, tuple[str, dict]] = {
    "map": ("AP", {}),
    "map_cut": ("AP", {}),
    "ndcg_cut": ("nDCG", {}),
    "ndcg_burges": ("nDCG", {"dcg": "exp-log2"}),
    "dcg_burges": ("DCG", {"dcg": "exp-log2"}),
    "precision": ("P", {}),
    "recall": ("R", {}),
    "r-precision": ("Rprec", {}),
    "recip_rank": ("RR", {}),
    "mrr": ("RR", {}),
    "hit_rate": ("Success", {}),
    "num_rel": ("NumRel", {}),
    "num_ret": ("NumRet", {}),
    "num_rel_ret": ("NumRelRet", {}),
}
_OWN = {name.lower(): name for name in MEASURES}
_CUT = re.compile(r"(?P<name>[a-z][a-z_-]*?)[_.@](?P<cutoff>[1-9][0-9]*)")
_LEVEL = re.compile(r"(?P<measure>.+)-l(?P<level>[1-9][0-9]*)")  # ranx's lowest relevant grade
_RBP = re.compile(r"rbp(?P<persistence>\.[0-9]+)")


def canonical_name(name: str) -> str | None:
    """The name here of a measure in any case, or None.

    Examples
    --------
    >>> canonical_name("ndcg"), canonical_name("MAP"), canonical_name("ERR")
    ('nDCG', 'AP', None)
    """
    known = _OWN.get(name.lower())
    return known or ALIASES.get(name.lower(), (None,))[0]


def read_alias(text: str) -> tuple[str, dict] | None:
    """Name and parameters of a measure as trec_eval or ranx writes it, or None.

    Examples
    --------
    >>> read_alias("ndcg_cut_10"), read_alias("recip_rank"), read_alias("rbp.95")
    (('nDCG', {'cutoff': 10}), ('RR', {}), ('RBP', {'p': 0.95}))
    >>> read_alias("precision@5-l2")
    ('P', {'cutoff': 5, 'rel': 2})
    """
    lower = text.lower()
    if level := _LEVEL.fullmatch(lower):
        read = None if _LEVEL.fullmatch(level["measure"]) else read_alias(level["measure"])
        rel = int(level["level"])
        if read is None or (rel == 1 and "rel" not in MEASURES[read[0]].parameters):
            return read
        return read[0], read[1] | {"rel": rel}
    rbp = _RBP.fullmatch(lower)
    if rbp:
        return "RBP", {"p": float(rbp["persistence"])}
    if lower in ALIASES:
        name, params = ALIASES[lower]
        return name, dict(params)
    cut = _CUT.fullmatch(lower)
    if cut is None or canonical_name(cut["name"]) is None:
        return None
    name, params = ALIASES.get(cut["name"], (canonical_name(cut["name"]), {}))
    return str(name), {**params, "cutoff": int(cut["cutoff"])}


TREC_EVAL = {
    "AP": ("map", "map_cut"),
    "P": ("", "P"),
    "nDCG": ("ndcg", "ndcg_cut"),
    "R": ("", "recall"),
    "Success": ("", "success"),
    "RR": ("recip_rank", ""),
    "Rprec": ("Rprec", ""),
    "Bpref": ("bpref", ""),
    "infAP": ("infAP", ""),
}  # its names without and with a cutoff; its counts are sums over topics, and ours means


def trec_eval_name(label: str) -> str:
    """The name that trec_eval has for a measure, or the label where it has none.

    Examples
    --------
    >>> trec_eval_name("nDCG@10"), trec_eval_name("AP"), trec_eval_name("RBP(p=0.8)")
    ('ndcg_cut_10', 'map', 'RBP(p=0.8)')
    """
    name, _, cutoff = label.partition("@")
    alone, cut = TREC_EVAL.get(name, ("", ""))
    if not cutoff:
        return alone or label
    return f"{cut}_{cutoff}" if cut else label


def nearest_name(text: str) -> str | None:
    """The measure, with its cutoff, that a misspelt one is most like, or None.

    Examples
    --------
    >>> nearest_name("nDGC@10"), nearest_name("Rprecision"), nearest_name("latency")
    ('nDCG@10', 'Rprec', None)
    """
    name, at, cutoff = text.partition("@")
    name, bracket, params = name.partition("(")
    if not at and (found := re.fullmatch(r"(.*?)[_.]?(\d+)", name)):
        name, at, cutoff = found[1], "@", found[2]
    close = get_close_matches(name.lower(), [*_OWN, *ALIASES], n=1, cutoff=0.6)
    if not close:
        return None
    own = str(canonical_name(close[0]))
    cut = at + cutoff if "cutoff" in MEASURES[own].parameters else ""
    return own + bracket + params + cut
