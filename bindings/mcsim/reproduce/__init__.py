"""What four documents show, measured: published beside found, figure by figure.

A document is a folder `experiments/reproduce/<document>/`. Its `figures.py` has the list `FIGURES`.
Its experiments, published numbers and notes on differences are YAML files. A figure's `find` runs
ordinary experiments and analyses through a `Context` and returns `Found`. Verdicts compare its
values with the published numbers.

The room can be called: ``mcsim.reproduce("multicache")`` is `mcsim.reproduce.catalogue.reproduce`.
"""

import sys
from types import ModuleType
from typing import Any


class _Callable(ModuleType):
    def __call__(self, *names: Any, **options: Any) -> Any:
        from mcsim.reproduce.reproduction import reproduce

        return reproduce(*names, **options)


sys.modules[__name__].__class__ = _Callable
