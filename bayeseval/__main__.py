"""The program `bayeseval`, which Ctrl-C ends at any moment with one line and exit code 130.

Nothing that Python has not imported by itself is imported before Ctrl-C is handled.
"""

import os
import sys

INTERRUPTED = 130


def main() -> int:
    """Run the command that this process was started with, and return its exit code."""
    try:
        import signal

        if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # else it is ignored
            signal.signal(signal.SIGINT, _end)
    except KeyboardInterrupt:
        _end()
    _open_missing()
    if "xarray" not in sys.modules and not any(word.startswith("--scheduler") for word in sys.argv):
        # xarray would import all of dask where it is installed, for arrays that no command has
        sys.modules.setdefault("dask", None)  # pyright: ignore[reportArgumentType]
    from bayeseval.cli import main as run

    code = run()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # all is written, and nothing left to interrupt
    return code


def _open_missing() -> None:
    """Give the streams that are closed (``2>&-``) to nobody, so that no file takes their numbers.

    An error of stdout is reported where it is written.
    """
    for number in (1, 2):
        try:
            os.fstat(number)
        except OSError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), number)
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 (to the end)


def _end(number=None, frame=None) -> None:
    """End the process at once, without unfinished files.

    An exception would not do: raised in a callback of a compiled library or while a module is
    imported it is printed and lost, or taken as another error, and nutpie returns what it has.
    """
    unfinished = list(getattr(sys.modules.get("bayeseval.whole_file"), "UNFINISHED", ()))
    if unfinished:
        import shutil

        for folder in unfinished:
            shutil.rmtree(folder, ignore_errors=True)
    fresh_line = b"\r\x1b[2K\x1b[?25h" if os.isatty(2) else b""  # over a bar, its cursor shown
    os.write(2, fresh_line + b"bayeseval: interrupted\n")
    os._exit(INTERRUPTED)


if __name__ == "__main__":
    sys.exit(main())
