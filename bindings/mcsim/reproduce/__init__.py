"""What four documents show, measured: published beside found, figure by figure.

A document is a module here with the one list `FIGURES`; its experiments, its published numbers and
notes on differences are data, in `experiments/reproduce/<document>/`. A figure's
`find` runs ordinary experiments and analyses through a `Context` and returns what it `Found`;
verdicts are computed from that and the published numbers.

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
