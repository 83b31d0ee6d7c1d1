"""The folder that `bayeseval fit` writes: what may be there before, and what is there after."""

import json
import os
from pathlib import Path
from typing import Any

import bayeseval as be
from bayeseval.cli.combining import INTERVALS
from bayeseval.cli.data import DataFrame
from bayeseval.cli.output import check_folder, check_outputs, remark, write_result
from bayeseval.cli.tables import as_csv, as_json

FILES = ("fit.nc", "scores.csv", "scores.json", INTERVALS)


def check_output(output: Path, inputs: list[Path], runs: list[Path]) -> None:
    """Refuse before the work what could only fail after it, and a folder of runs."""
    for run in runs:
        if os.path.realpath(run.parent) == os.path.realpath(output):
            raise ValueError(
                f"--output {output} is the folder of the RUN {run}, and a glob of its runs would "
                "find what is written there; name another folder"
            )
    check_folder("--output", output)
    written = [output / name for name in FILES]
    drawn = sorted(output.glob("*.png"))
    there = [path for path in [*written, *drawn] if os.path.lexists(path)]
    check_outputs({f"--output ({path.name})": path for path in there}, inputs)


def older_files(output: Path) -> set[str]:
    """Names of what an earlier fit says to have written into the folder."""
    if not (output / "fit.nc").exists():
        return set()
    try:
        names = json.loads((output / "scores.json").read_text(encoding="utf-8"))["files"]
        own = {name for name in names if name in FILES or name.endswith(".png")}
        return {name for name in own if Path(name).name == name}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return set()


def write_fit(fitted, rows: DataFrame, about: dict[str, Any], output: Path) -> None:
    """Write the fit and the scores into the folder."""
    output.mkdir(parents=True, exist_ok=True)
    be.save_fit(fitted, output / "fit.nc")
    write_result(as_csv(rows, {}), output / "scores.csv")
    write_result(as_json(rows, about), output / "scores.json")


def remove_older(older: set[str], output: Path) -> None:
    """Remove what a fit has not replaced: it is of another one."""
    left = sorted(name for name in older if (output / name).is_file())
    for name in left:
        (output / name).unlink()
    if left:
        remark(f"removed from {output}, left by an earlier fit: {', '.join(left)}")
