"""The README's Python, with the default model."""

import doctest
import importlib.util
import os
import unittest
from pathlib import Path

README = Path(__file__).resolve().parents[2] / "README.md"


@unittest.skipUnless(importlib.util.find_spec("numpy"), "NumPy is missing")
@unittest.skipIf(os.environ.get("BERT_SANITIZED"), "Python does not load a library with sanitizers")
class Readme(unittest.TestCase):
    def test_examples(self):
        block = README.read_text(encoding="utf-8").partition("```python\n")[2].partition("```")[0]
        test = doctest.DocTestParser().get_doctest(block, {}, "README", str(README), 0)
        result = doctest.DocTestRunner().run(test)
        self.assertGreater(result.attempted, 5)
        self.assertEqual(result.failed, 0)
