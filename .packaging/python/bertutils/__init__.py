"""Programs that run BERT over lines of text (man bert-tools), and their library, from Python.

    >>> import bertutils
    >>> bertutils.run("mlm-fill", ["Mozart was a famous [MASK]."])
    ['Mozart was a famous composer.']
    >>> with bertutils.stream("classify", open("reviews.txt"), "-o") as rows:
    ...     for row in rows: ...
    >>> model = bertutils.Model()
    >>> model.embed(["a cat on a mat", "the cat sat"]).shape
    (2, 384)

run and stream start a program and need nothing else. Model has no process: it calls libbert, and gives NumPy arrays.
"""

from ._error import Error
from ._model import Candidate, Model
from ._place import path
from ._process import Rows, run, stream

__all__ = ["Candidate", "Error", "Model", "Rows", "path", "run", "stream"]
