"""libbert by ctypes: what lib/include/bert/bert.h declares, for Model alone."""

from __future__ import annotations

import ctypes
import functools
import itertools
import os
import threading
from ctypes import POINTER, Structure, byref, c_char_p, c_double, c_float, c_int, c_int32, c_size_t, c_void_p
from typing import TYPE_CHECKING, Callable, Iterable, Iterator, NamedTuple, Sequence, Union

from ._error import Error
from ._place import library

if TYPE_CHECKING:
    import numpy

Text = Union[str, bytes]
_BATCH_BYTES = 1 << 15  # of texts that are computed together: enough work for all threads, in little memory
_DTYPES = {"auto": 0, "f32": 1, "bf16": 2, "int8": 3}


class _Text(Structure):
    _fields_ = [("data", c_void_p), ("size", c_size_t)]


class _Matrix(Structure):
    _fields_ = [("data", POINTER(c_float)), ("rows", c_size_t), ("cols", c_size_t)]


class _ModelOptions(Structure):
    _fields_ = [("size", c_size_t), ("task", c_char_p), ("head", c_char_p), ("dtype", c_int), ("no_mmap", c_int)]


class _BatchOptions(Structure):
    _fields_ = [("size", c_size_t), ("max_length", c_size_t), ("threads", c_int), ("strict", c_int),
                ("literal", c_int)]


class _Filling(Structure):
    _fields_ = [("sequence", c_size_t), ("token", c_size_t), ("id", c_int32), ("probability", c_double)]


_FUNCTIONS = {  # name: what it gives, what it takes
    "bert_last_error": (c_char_p,),
    "bert_model_open": (c_int, c_char_p, POINTER(_ModelOptions), POINTER(c_void_p)),
    "bert_model_close": (None, c_void_p),
    "bert_model_tokenizer": (c_void_p, c_void_p),
    "bert_mask_token": (_Text, c_void_p),
    "bert_token": (_Text, c_void_p, c_int32),
    "bert_label_count": (c_size_t, c_void_p),
    "bert_label": (c_char_p, c_void_p, c_size_t),
    "bert_batch_open": (c_int, c_void_p, POINTER(_BatchOptions), POINTER(c_void_p)),
    "bert_batch_close": (None, c_void_p),
    "bert_batch_add": (c_int, c_void_p, c_char_p, c_size_t, c_char_p, c_size_t),
    "bert_sentence_vectors": (c_int, c_void_p, POINTER(_Matrix)),
    "bert_classify": (c_int, c_void_p, POINTER(_Matrix)),
    "bert_fill_masks": (c_int, c_void_p, c_size_t, POINTER(POINTER(_Filling)), POINTER(c_size_t)),
}


@functools.lru_cache(maxsize=None)
def _library() -> ctypes.CDLL:
    try:
        loaded = ctypes.CDLL(library())
    except OSError as error:
        raise Error(f"libbert cannot be loaded: {error}", 66) from None
    for name, (result, *arguments) in _FUNCTIONS.items():
        function = getattr(loaded, name)
        function.restype, function.argtypes = result, arguments
    return loaded


def _check(status: int) -> None:
    if status:
        raise Error(_library().bert_last_error().decode("utf-8", "replace"), status)


def _decode(text: _Text) -> str:
    return ctypes.string_at(text.data, text.size).decode("utf-8", "surrogateescape") if text.data else ""


def _encode(text: Text) -> bytes:
    return text.encode("utf-8", "surrogateescape") if isinstance(text, str) else text


class _Handle:
    """A pointer of the library, which is closed when nothing uses it any more; `owner` is closed after it."""

    def __init__(self, close: Callable[[c_void_p], None], owner: _Handle | None = None) -> None:
        self.pointer, self._close, self._owner = c_void_p(), close, owner

    def __del__(self) -> None:
        self._close(self.pointer)


class Candidate(NamedTuple):
    """A token for a mask."""

    token: str  # as the vocabulary spells it
    probability: float
    id: int


class Model:
    """A model in this process. Texts are str, or bytes of UTF-8; a text that is too long is cut.

    Any number of threads may use one Model at the same time. The numbers are those of the programs, and do not depend
    on the other texts or on the number of threads. Errors of the library are raised as Error.

    model    a directory, or the name of an installed model, as -m of the programs; None: the default model
    threads  threads for one call; None: one for each CPU that this process may use
    dtype    "f32", "bf16" or "int8", the precision of the matrix products; "auto": that of the file
    head     which of several heads for a task, by name; None: the first that fits
    """

    def __init__(self, model: str | os.PathLike[str] | None = None, *, threads: int | None = None,
                 dtype: str = "auto", head: str | None = None) -> None:
        if dtype not in _DTYPES:
            raise ValueError(f"dtype: found {dtype!r}, wants one of {', '.join(_DTYPES)}")
        self._name = None if model is None else os.fsencode(model)
        self._threads = threads or min(len(os.sched_getaffinity(0)), 1024)
        self._dtype, self._head = _DTYPES[dtype], None if head is None else head.encode()
        self._opened: dict[str | None, _Handle] | None = {}
        self._lock = threading.Lock()
        self._open(None)  # so that a missing model is an error here

    def __enter__(self) -> Model:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Frees the memory, once the calls that other threads are in have ended."""
        self._opened = None

    def embed(self, texts: Iterable[Text]) -> numpy.ndarray:
        """One vector for each text, float32 [n, W], as embed(1) writes them."""
        return self._matrix(None, "bert_sentence_vectors", texts)

    def classify(self, texts: Iterable[Text | tuple[Text, Text]]) -> numpy.ndarray:
        """The probability of each label for each text or pair of texts, float32 [n, labels]; a regression: its value.

        The columns have the names `labels`.
        """
        return self._matrix("text-classification", "bert_classify", texts)

    def fill(self, text: Text, k: int = 5) -> list[list[Candidate]]:
        """The k most probable tokens for each mask of a text, best first. `mask` is what stands for a mask."""
        batch = self._batch("fill-mask", [text])
        fillings, count = POINTER(_Filling)(), c_size_t()
        _check(_library().bert_fill_masks(batch.pointer, k, byref(fillings), byref(count)))
        tokenizer = self._tokenizer("fill-mask")
        masks = itertools.groupby(fillings[:count.value], key=lambda filling: filling.token)
        return [[Candidate(_decode(_library().bert_token(tokenizer, filling.id)), filling.probability, filling.id)
                 for filling in mask] for _, mask in masks]

    @property
    def labels(self) -> list[str]:
        """The names of the labels that classify gives probabilities of."""
        model = self._open("text-classification").pointer
        return [_library().bert_label(model, index).decode() for index in range(_library().bert_label_count(model))]

    @property
    def mask(self) -> str:
        """The mask token as a text spells it, such as "[MASK]"; "" if the vocabulary has none."""
        return _decode(_library().bert_mask_token(self._tokenizer(None)))

    def _open(self, task: str | None) -> _Handle:
        """The model with the head for a task."""
        with self._lock:
            if self._opened is None:
                raise ValueError("the model is closed")
            if task not in self._opened:
                options = _ModelOptions(ctypes.sizeof(_ModelOptions), task and task.encode(),
                                        self._head if task else None, self._dtype, 0)
                handle = _Handle(_library().bert_model_close)
                _check(_library().bert_model_open(self._name, byref(options), byref(handle.pointer)))
                self._opened[task] = handle
            return self._opened[task]

    def _tokenizer(self, task: str | None) -> c_void_p:
        return _library().bert_model_tokenizer(self._open(task).pointer)

    def _batch(self, task: str | None, texts: Sequence[Text | tuple[Text, Text]]) -> _Handle:
        model = self._open(task)
        options = _BatchOptions(ctypes.sizeof(_BatchOptions), 0, self._threads, 0, 0)
        batch = _Handle(_library().bert_batch_close, model)
        _check(_library().bert_batch_open(model.pointer, byref(options), byref(batch.pointer)))
        for text in texts:
            first, second = (_encode(part) for part in text) if isinstance(text, tuple) else (_encode(text), None)
            _check(_library().bert_batch_add(batch.pointer, first, len(first), second, len(second or b"")))
        return batch

    def _matrix(self, task: str | None, function: str, texts: Iterable[Text | tuple[Text, Text]]) -> numpy.ndarray:
        import numpy  # only these functions need it

        if isinstance(texts, (str, bytes)):
            raise TypeError("texts: found one text, wants several, as in a list")
        parts = []
        for some in _cut(texts):
            batch, result = self._batch(task, some), _Matrix()
            _check(getattr(_library(), function)(batch.pointer, byref(result)))
            parts.append(numpy.ctypeslib.as_array(result.data, (result.rows, result.cols)).copy())
        return numpy.concatenate(parts) if parts else self._matrix(task, function, [""])[:0]


def _cut(texts: Iterable[Text | tuple[Text, Text]]) -> Iterator[list[Text | tuple[Text, Text]]]:
    """Groups of texts, of about _BATCH_BYTES each."""
    group, size = [], 0
    for text in texts:
        group.append(text)
        size += 64 + (sum(map(len, text)) if isinstance(text, tuple) else len(text))
        if size >= _BATCH_BYTES:
            yield group
            group, size = [], 0
    if group:
        yield group
