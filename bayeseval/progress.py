"""A progress bar on work that takes more than two seconds, on a terminal and in notebooks.

On a terminal the bar is rich's; its own `track` has no delay and would flash by on every short
loop. In a notebook it is HTML's, since rich needs ipywidgets there.
"""

import sys
import time
from collections.abc import Iterable, Iterator, Sized
from typing import Any

PATIENCE = 2.0
PAUSE = 0.5  # between two moves of a bar in a notebook


def track[Item](items: Iterable[Item], description: str) -> Iterator[Item]:
    """Pass items on, and show a bar once they have taken two seconds."""
    kind = _NotebookBar if _in_notebook() else _TerminalBar
    if kind is _TerminalBar and (sys.stderr is None or not sys.stderr.isatty()):
        yield from items
        return
    total = len(items) if isinstance(items, Sized) else None
    began = time.monotonic()
    bar = None
    try:
        for done, item in enumerate(items):
            if bar is None and time.monotonic() - began > PATIENCE:
                bar = kind(description, total)
            if bar is not None:
                bar.move(done)
            yield item
    finally:
        if bar is not None:
            bar.stop()


def _in_notebook() -> bool:
    """Whether a kernel of Jupyter runs this."""
    ipython = sys.modules.get("IPython")
    return ipython is not None and hasattr(ipython.get_ipython(), "kernel")


class _TerminalBar:
    """A bar on stderr, which is gone when the work is done."""

    def __init__(self, description: str, total: int | None) -> None:
        from rich.console import Console
        from rich.progress import Progress

        self.progress = Progress(console=Console(stderr=True), transient=True)
        self.progress.start()
        self.task = self.progress.add_task(description, total=total)

    def move(self, done: int) -> None:
        self.progress.update(self.task, completed=done)

    def stop(self) -> None:
        self.progress.stop()


class _NotebookBar:
    """A bar in the output of a cell, which is gone when the work is done."""

    def __init__(self, description: str, total: int | None) -> None:
        from IPython.display import HTML, display

        self.description, self.total, self.html, self.moved = description, total, HTML, -PAUSE
        self.handle: Any = display(HTML(""), display_id=True)

    def move(self, done: int) -> None:
        if time.monotonic() - self.moved < PAUSE:
            return
        self.moved = time.monotonic()
        part, value = str(done), ""
        if self.total is not None:
            part, value = f"{done} of {self.total}", f' value="{done}" max="{self.total}"'
        bar = f"{self.description} <progress{value}></progress> {part}"
        self.handle.update(self.html(bar))

    def stop(self) -> None:
        self.handle.update(self.html(""))
