"""bertutils.Model: the numbers of the programs, without a process. The arrays need NumPy."""

import importlib.util
import os
import sys
import threading
import unittest
from pathlib import Path
from unittest import mock

import bertutils

MODELS = Path(__file__).resolve().parent.parent / "golden"
TEXTS = ["a cat on a mat", "", "the cat sat", "unaffable\nrunning " * 400, "\N{CAT FACE} \udcff"] * 30
needs_numpy = unittest.skipUnless(importlib.util.find_spec("numpy"), "NumPy is missing")


def resident():
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE")


@unittest.skipIf(os.environ.get("BERT_SANITIZED"), "Python does not load a library with sanitizers")
class Model(unittest.TestCase):
    def test_fill_as_mlm_fill(self):
        text = "a [MASK] sat on the [MASK]"
        with bertutils.Model(MODELS / "tiny-bert") as model:
            self.assertEqual(model.mask, "[MASK]")
            masks = model.fill(text, 3)
        rows = [row.split("\t") for row in bertutils.run("mlm-fill", [text], "-k3", "-m", str(MODELS / "tiny-bert"))]
        self.assertEqual([len(mask) for mask in masks], [3, 3])
        for candidate, row in zip(masks[0] + masks[1], rows):
            self.assertAlmostEqual(candidate.probability, float(row[3]), delta=1e-5)
            self.assertEqual(candidate.token, row[4])

    def test_fill_more_than_there_are(self):
        with bertutils.Model(MODELS / "tiny-bert") as model:
            self.assertEqual(model.fill("no mask"), [])
            first, second = model.fill("[MASK] [MASK]", 10**6)
        self.assertEqual(len(first), len(second))
        self.assertEqual(first, sorted(first, key=lambda candidate: -candidate.probability))
        self.assertEqual(len({candidate.id for candidate in first}), len(first))

    def test_errors(self):
        with self.assertRaisesRegex(bertutils.Error, "/nowhere: ") as caught:
            bertutils.Model("/nowhere")
        self.assertEqual(caught.exception.status, 66)
        with bertutils.Model(MODELS / "tiny-qa") as model:
            with self.assertRaises(bertutils.Error) as caught:
                model.fill("a [MASK]")
            self.assertEqual(caught.exception.status, 65)
            with self.assertRaises(bertutils.Error) as caught:
                model.labels
        with self.assertRaisesRegex(ValueError, "closed"):
            model.fill("a [MASK]")
        with self.assertRaisesRegex(ValueError, "dtype"):
            bertutils.Model(MODELS / "tiny-bert", dtype="f8")

    def test_memory_is_freed(self):
        def use():
            model = bertutils.Model(MODELS / "tiny-bert", threads=2)
            model.fill("a [MASK]")

        for _ in range(20):
            use()
        before = resident()
        for _ in range(200):
            use()
        self.assertLess(resident() - before, 20 << 20)

    def test_without_numpy(self):
        with mock.patch.dict(sys.modules, {"numpy": None}), bertutils.Model(MODELS / "tiny-bert") as model:
            self.assertTrue(model.fill("a [MASK]"))
            with self.assertRaises(ImportError):
                model.embed(["a"])

    @needs_numpy
    def test_embed_as_embed(self):
        import numpy
        for name in ("tiny-bert", "st-dense", "roberta-pooler", "static-embedding", "static-model2vec"):
            with bertutils.Model(MODELS / name) as model:
                vectors = model.embed(iter(TEXTS))
                self.assertEqual(model.embed([]).shape, (0, vectors.shape[1]))
            rows = bertutils.run("embed", TEXTS, "-q", "-m", str(MODELS / name))
            wanted = numpy.array([row.split("\t") for row in rows], dtype=numpy.float32)
            self.assertEqual(vectors.dtype, numpy.float32)
            numpy.testing.assert_array_equal(vectors, wanted)

    @needs_numpy
    def test_classify_as_classify(self):
        import numpy
        with bertutils.Model(MODELS / "tiny-classifier", threads=1) as model:
            probabilities, labels = model.classify(TEXTS), model.labels
            pairs = model.classify([("a cat", "a dog"), (b"a", "")])
            with self.assertRaises(TypeError):
                model.classify("one text")
        rows = bertutils.run("classify", TEXTS, "-q", "--all", "-m", str(MODELS / "tiny-classifier"))
        wanted = numpy.array([row.split("\t")[:len(labels)] for row in rows], dtype=numpy.float32)
        numpy.testing.assert_allclose(probabilities, wanted, atol=1e-5)
        rows = bertutils.run("classify", ["a cat\ta dog", "a\t"], "--pair", "-m", str(MODELS / "tiny-classifier"))
        self.assertEqual([labels[index] for index in pairs.argmax(1)], [row.split("\t")[0] for row in rows])

    @needs_numpy
    def test_threads_share_a_model_that_is_closed(self):
        import numpy
        model = bertutils.Model(MODELS / "tiny-bert", threads=1)
        wanted, results, ready = model.embed(TEXTS), [], threading.Barrier(9)

        def embed(own):
            del own  # keeps the model open no longer than the call
            ready.wait()
            try:
                results.append(model.embed(TEXTS))
            except ValueError:  # it was closed before
                results.append(wanted)

        threads = [threading.Thread(target=embed, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        ready.wait()
        model.close()
        for thread in threads:
            thread.join()
        self.assertEqual(len(results), 8)
        for result in results:
            numpy.testing.assert_array_equal(result, wanted)


if __name__ == "__main__":
    unittest.main()
