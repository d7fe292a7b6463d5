from . import engine as engine
from . import locality as locality
from . import optimizers as optimizers
from . import policies as policies
from . import synthetic as synthetic
from . import trace as trace

__compiler__: str
__version__: str
