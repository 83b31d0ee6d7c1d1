"""Search evaluation with error bars when only some documents are judged.

Names are imported when they are first used, as `__init__.pyi` lists them: the command line then
answers `--help` at once, and Ctrl-C is handled before a library is imported.
"""

import functools


@functools.cache
def _public():
    """What lazy-loader makes of the list: how a name is found, what `dir` says, all names."""
    import lazy_loader

    return lazy_loader.attach_stub(__name__, __file__)


def _version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(__name__)
    except PackageNotFoundError:
        return "(a source folder, not installed)"


def __getattr__(name: str):
    find, _, names = _public()
    if name == "__all__":
        return names
    return _version() if name == "__version__" else find(name)


def __dir__() -> list[str]:
    return [*_public()[1](), "__version__"]
