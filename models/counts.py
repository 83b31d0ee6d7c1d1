"""Fit the count model to a sample and print how many documents of each topic are relevant.

    python models/counts.py                 # the shipped collection, a sample of it judged
    python models/counts.py collection.nc   # yours, with a design, as be.save_collection wrote it

It is the model that AP, nDCG, R@k and Rprec of `stat` and `dyn` are divided by, sampled in place of
integrated. Prints the verdict on the sampler, and of every topic the posterior number of relevant
documents beside what its own sample says (`stat`). Writes the fit (fit.nc), the numbers
(numbers.csv) and the diagnostic plots. Written to be copied and edited.
"""

import argparse
import warnings
from pathlib import Path

import bayeseval as be
from bayeseval.inference import verdict_text


def main() -> None:
    options = arguments()
    sampled = loaded(options)
    model = be.models.count_model(sampled)
    fitted = be.fit(model, draws=options.draws, tune=options.tune, random_seed=options.seed)
    print(verdict_text(be.verdict(fitted)))
    numbers = table(fitted, sampled, options.seed)
    print(numbers.to_string(float_format="{:.1f}".format))

    options.output.mkdir(parents=True, exist_ok=True)
    be.save_fit(fitted, options.output / "fit.nc")
    numbers.to_csv(options.output / "numbers.csv")
    be.diagnostic_plots(fitted, options.output, model=model, random_seed=options.seed)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("collection", nargs="?", help="a saved collection, with a design")
    parser.add_argument("--output", type=Path, default=Path("counts-output"))
    parser.add_argument("--budget", type=int, default=40, help="judged per topic, shipped data")
    parser.add_argument("--draws", type=int, default=1000, help="kept, of each of 4 chains")
    parser.add_argument("--tune", type=int, default=1000, help="steps of adaptation")
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


def loaded(options):
    """The collection of the command line, or a sample of the shipped one."""
    if options.collection:
        return be.open_collection(options.collection)
    collection = be.simulate.demo_collection()
    design = be.designs.pps_strata(collection, budget=options.budget)
    return be.reveal(collection, design, be.draw(design, random_seed=options.seed))


def table(fitted, sampled, seed):
    """A row for each topic: posterior mean, deviation and interval, and the topic's own sample."""
    number = be.models.relevant_numbers(fitted, random_seed=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # topics without a judgment
        own = be.evaluate(sampled, "NumRel", estimator="stat").isel(measure=0, run=0, drop=True)
    columns = {
        "estimate": number.mean(["chain", "draw"]),
        "standard_error": number.std(["chain", "draw"]),
        "lower": number.quantile(0.05, ["chain", "draw"]).drop_vars("quantile"),
        "upper": number.quantile(0.95, ["chain", "draw"]).drop_vars("quantile"),
        "own_sample": own["estimate"],
        "its_error": own["standard_error"],
    }
    return own[[]].assign(columns).to_dataframe()[list(columns)]


if __name__ == "__main__":
    main()
