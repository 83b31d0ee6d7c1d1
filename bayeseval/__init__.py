"""Search evaluation with error bars when only some documents are judged.

Names are imported when they are first used, as `__init__.pyi` lists them: the command line then
answers `--help` at once, and can be interrupted while libraries are imported.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
