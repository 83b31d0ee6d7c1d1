"""A progress bar on work that takes more than two seconds, on a terminal only.

The bar is rich's; its own `track` has no delay and would flash by on every short loop.
"""

import sys
import time
from collections.abc import Iterable, Iterator, Sized

PATIENCE = 2.0


def track[Item](items: Iterable[Item], description: str) -> Iterator[Item]:
    """Pass items on, and show a bar on stderr once they have taken two seconds."""
    if sys.stderr is None or not sys.stderr.isatty():
        yield from items
        return
    total = len(items) if isinstance(items, Sized) else None
    began = time.monotonic()
    progress = None
    try:
        for done, item in enumerate(items):
            if progress is None and time.monotonic() - began > PATIENCE:
                from rich.console import Console
                from rich.progress import Progress

                progress = Progress(console=Console(stderr=True), transient=True)
                progress.start()
                progress.add_task(description, total=total)
            if progress is not None:
                progress.update(progress.task_ids[0], completed=done)
            yield item
    finally:
        if progress is not None:
            progress.stop()
