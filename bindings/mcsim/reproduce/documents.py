"""Import path of the documents: each is a folder of `experiments/reproduce` with `figures.py`.

``mcsim.reproduce.documents.eci.figures`` is `experiments/reproduce/eci/figures.py`, of the source
tree or of the installed experiments. Modules of a document import each other relatively.
"""

from mcsim.base.package import experiments_folder

__path__ = [str(experiments_folder() / "reproduce")]
