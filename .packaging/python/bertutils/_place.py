"""Where the programs and the library are."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from ._error import Error

_LIBRARY = "libbert.so.0"
_FOLDERS = ("libexec/bertutils", "lib")  # of a wheel; of a build folder and of `cmake --install`


def _library_in(prefix: Path) -> Path | None:
    found = (prefix / folder / _LIBRARY for folder in _FOLDERS)
    return next((file for file in found if file.exists()), None)


def _prefix() -> Path | None:
    """$BERTUTILS_PREFIX, or the first folder above this module that has the library.

    pip installs the module at different depths of the prefix: a venv, ~/.local, /usr/local, --target.
    """
    given = os.environ.get("BERTUTILS_PREFIX")
    folders = [Path(given)] if given else list(Path(__file__).resolve().parents)
    return next((folder for folder in folders if _library_in(folder)), None)


def library() -> str:
    """The path of libbert, or its name if only the system knows where it is."""
    prefix = _prefix()
    return str(_library_in(prefix)) if prefix else _LIBRARY


def path(tool: str) -> str:
    """The path of a program, such as path("embed"). Raises Error (66) if there is none."""
    prefix = _prefix()
    found = shutil.which(tool, path=str(prefix / "bin")) if prefix else shutil.which(tool)
    if not found or os.sep in tool:
        raise Error(f"{tool}: there is no such program of bertutils in {prefix / 'bin' if prefix else 'PATH'}", 66)
    return found
