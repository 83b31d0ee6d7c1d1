"""Search evaluation with error bars when only some documents are judged.

Names are imported when they are first used, as `__init__.pyi` lists them: the command line then
answers `--help` at once, and Ctrl-C is handled before a library is imported.
"""


def _public() -> dict:
    """Put what lazy-loader makes of the list of names in the place of the two functions below."""
    import lazy_loader

    attribute, listed, names = lazy_loader.attach_stub(__name__, __file__)
    globals().update(__getattr__=attribute, __dir__=listed, __all__=names)
    return globals()


def __getattr__(name: str):
    made = _public()
    return made[name] if name in made else made["__getattr__"](name)


def __dir__() -> list[str]:
    return _public()["__dir__"]()
