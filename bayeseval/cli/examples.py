"""What the help of every command ends with: the command as one would type it.

The files are those of ``bayeseval demo --files demo``, the design and judged.qrels those of sample.
"""

RUNS = "'demo/runs/*'"
UNPOOLED = "--unpooled 'demo/new/*' --pool-depth 5"
SAMPLED = f"judged.qrels {RUNS} --design design.nc --estimator dyn"
EXAMPLES = {
    "adjust": f"bayeseval adjust demo/pool.qrels {RUNS} {UNPOOLED} -m P@5",
    "compare": f"bayeseval compare {SAMPLED} -m P@10 --reference run021",
    "demo": "bayeseval demo --files demo",
    "doctor": f"bayeseval doctor demo/pool.qrels {RUNS} 'demo/new/*'",
    "evaluate": f"bayeseval evaluate {SAMPLED} -m P@10 -m map --sort map",
    "fit": f"bayeseval fit judged.qrels {RUNS} --design design.nc -m P@10 --output fit",
    "plan": f"bayeseval plan judged.qrels {RUNS} --design design.nc -m P@10 --budget 50",
    "rank": f"bayeseval rank {SAMPLED} -m P@10 --top 3",
    "report": f"bayeseval report judged.qrels {RUNS} --design design.nc -m P@10 --output page.html",
    "sample": f"bayeseval sample {RUNS} --budget 40 --design-file design.nc --output to-judge.tsv",
}


def example_of(command: str) -> str:
    """End of a command's help; the backspace keeps its lines from being wrapped.

    Examples
    --------
    >>> print(example_of("demo").replace(chr(8), ""))
    <BLANKLINE>
    Example:
      bayeseval demo --files demo
    """
    return f"\b\nExample:\n  {EXAMPLES[command]}"
