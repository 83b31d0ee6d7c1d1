"""The commands together, and the one place where a user's mistake becomes one sentence."""

import os
import re
import sys
import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import BrokenExecutor
from typing import Annotated

import typer

import bayeseval as be
from bayeseval.cli.adjust import adjust
from bayeseval.cli.compare import compare
from bayeseval.cli.demo import demo
from bayeseval.cli.doctor import doctor
from bayeseval.cli.evaluate import evaluate
from bayeseval.cli.fit import fit
from bayeseval.cli.output import note, one_line, write_stderr
from bayeseval.cli.plan import plan
from bayeseval.cli.rank import rank
from bayeseval.cli.report import report
from bayeseval.cli.sample import sample
from bayeseval.messages import TopicsUnranked

_NO_NUMBER = re.compile(r"Invalid value for '(.*)': Input should be a valid (integer|number).*")
_TOO_SMALL = re.compile(
    r"Invalid value for '(.*)': Input should be greater than or equal to ([0-9]+)"
)
MISTAKE = 2
INTERRUPTED = 130
COMPLETING = "_BAYESEVAL_COMPLETE"  # what a shell sets to ask for completions

application = typer.Typer(
    name="bayeseval",
    help="Evaluate rankings from incomplete judgments, and say how sure you are.",
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
# the command as one would type it, on the files of demo and those of sample
RUNS = "'demo/runs/*'"
UNPOOLED = "--unpooled 'demo/new/*' --pool-depth 5"
SAMPLED = f"judged.qrels {RUNS} --design design.nc"
EXAMPLES = {
    "adjust": f"bayeseval adjust demo/pool.qrels {RUNS} {UNPOOLED} -m P@5",
    "compare": f"bayeseval compare {SAMPLED} -m P@10 --reference run021",
    "demo": "bayeseval demo --output demo",
    "doctor": f"bayeseval doctor demo/pool.qrels {RUNS} 'demo/new/*'",
    "evaluate": f"bayeseval evaluate {SAMPLED} -m P@10 -m map --sort map",
    "fit": f"bayeseval fit judged.qrels {RUNS} --design design.nc -m P@10 --output fit",
    "plan": f"bayeseval plan judged.qrels {RUNS} --design design.nc -m P@10 --budget 50",
    "rank": f"bayeseval rank {SAMPLED} -m P@10 --top 3",
    "report": f"bayeseval report judged.qrels {RUNS} --design design.nc -m P@10 --output page.html",
    "sample": f"bayeseval sample {RUNS} --budget 40 --design-file design.nc --output to-judge.tsv",
}


def _say_version(asked: bool) -> None:
    """Print the version and stop, where asked."""
    if not asked:
        return
    print(f"bayeseval {be.__version__}")
    raise typer.Exit


@application.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_say_version, is_eager=True, help="Print the version."),
    ] = False,
) -> None:
    pass


for command in (adjust, compare, demo, doctor, evaluate, fit, plan, rank, report, sample):
    # the backspace keeps the lines at the end of the help from being wrapped
    application.command(epilog=f"\b\nExample:\n  {EXAMPLES[command.__name__]}")(command)

# typer carries its own copy of click: the class that all its usage errors share has no public name.
USAGE_ERROR: type[Exception] = next(
    cls
    for cls in typer.BadParameter.__mro__
    if cls.__name__ == "ClickException" and issubclass(cls, Exception)
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command, by default that of this process, and return its exit code.

    Results go to stdout, everything else to stderr: warnings as one line each, a user's mistake as
    one sentence. The code is 0 when done, 3 where ``compare --fail-if-worse`` found a run worse, 2
    for a user's mistake, 130 when interrupted.

    Examples
    --------
    >>> main(["evaluate"])  # says on stderr that the judgments are missing
    2
    """
    words = list(sys.argv[1:] if arguments is None else arguments)
    command = typer.main.get_command(application)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for category in (UserWarning, RuntimeWarning):
            warnings.simplefilter("default", category)
        # to developers; some libraries' are UserWarnings too
        warnings.simplefilter("ignore", DeprecationWarning)
        warnings.simplefilter("ignore", TopicsUnranked)  # a note says so
        warnings.showwarning = _show_once()
        try:
            if not words and COMPLETING not in os.environ:
                with command.make_context("bayeseval", [], resilient_parsing=True) as top:
                    write_stderr(command.get_help(top))
                return MISTAKE
            code = command(words, prog_name="bayeseval", standalone_mode=False)
        except (KeyboardInterrupt, typer.Abort):
            note("interrupted")
            return INTERRUPTED
        except (USAGE_ERROR, ValueError, KeyError, OSError, BrokenExecutor) as error:
            note(_sentence(error))
            return MISTAKE
    return code if isinstance(code, int) else 0


def _sentence(error: BaseException) -> str:
    """The message of an error on one line."""
    if not isinstance(error, USAGE_ERROR):
        return one_line(error)
    text = error.format_message()  # pyright: ignore[reportAttributeAccessIssue]
    text = text.replace("Value error, ", "")  # the library's word for any wrong choice
    text = _NO_NUMBER.sub(r"\1 takes a \2", text).replace(
        " takes a integer", " takes a whole number"
    )
    text = _TOO_SMALL.sub(r"\1 must be at least \2", text)
    if text.startswith("Missing "):
        missing = getattr(getattr(error, "param", None), "help", None) or "not given"
        command = getattr(getattr(error, "ctx", None), "command_path", "bayeseval")
        text = f"{text.rstrip('.')}: {missing.rstrip('.')}; see {command} --help"
    return one_line(text)


def _show_once() -> Callable[..., None]:
    """What writes a warning as one line, without the place in our code, the first time alone."""
    shown = set()

    def show(message, category, filename, lineno, file=None, line=None) -> None:
        text = one_line(message)
        if text not in shown:
            shown.add(text)
            note(f"warning: {text}")

    return show
