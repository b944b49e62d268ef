"""Checkpoints of a training run: killed at any moment, it continues to the numbers it would have had.

A checkpoint is a whole file or none, with a checksum inside. The last two are kept: if the newer one is damaged it is
named in a warning, and the one before it is used.
"""

from __future__ import annotations

import hashlib
import io
import pickle
import re
import shutil
import time
import warnings
from pathlib import Path
from typing import Any

import torch

from moestat import cache, files

_MAGIC = b"moestat-checkpoint-1"
_NAME = re.compile(r"step-(\d{10})\.checkpoint")
EVERY = 60.0  #: Seconds between two checkpoints. How many there are does not change what comes out.
KEPT = 2


class CheckpointWarning(UserWarning):
    """A checkpoint could not be read or written; the training goes on without it."""


def folder_of(*identity: str) -> Path:
    """Return the folder, in the cache, of a training run: ``identity`` is everything that its numbers depend on."""
    name = hashlib.sha256("\n".join(identity).encode()).hexdigest()[:32]
    return cache.folder() / "checkpoints" / name


class Checkpoints:
    """The checkpoints of one training run, ``every`` so many seconds, in a folder made with the first one."""

    def __init__(self, folder: Path, *, every: float = EVERY) -> None:
        self.folder, self.every = folder, every
        self._last = time.monotonic()
        self._gave_up = False

    def due(self) -> bool:
        """Whether it is time for the next one."""
        return not self._gave_up and time.monotonic() - self._last >= self.every

    def save(self, step: int, state: dict[str, Any]) -> None:
        """Write the state after ``step`` steps: tensors, numbers, text, lists and dicts of these.

        If it cannot be written a warning says so, and no further one is tried.
        """
        payload = io.BytesIO()
        torch.save(state, payload)
        body = payload.getvalue()
        header = b"%s %s\n" % (_MAGIC, hashlib.sha256(body).hexdigest().encode())
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            files.write(self.folder / f"step-{step:010d}.checkpoint", header + body)
            for old in self._files()[KEPT:]:
                old.unlink(missing_ok=True)
        except OSError as error:
            self._gave_up = True
            warnings.warn(
                f"no checkpoint can be written to {self.folder} ({error}); the training goes on without: set "
                "MOESTAT_CACHE to a folder that can be written",
                CheckpointWarning,
                stacklevel=2,
            )
        self._last = time.monotonic()

    def latest(self) -> tuple[int, dict[str, Any]] | None:
        """Return (steps done, state) of the newest checkpoint that is whole, or None; tensors are on the CPU.

        A newer one that is damaged or cannot be read is named in a warning.
        """
        for file in self._files():
            match = _NAME.fullmatch(file.name)
            assert match is not None
            try:
                return int(match[1]), _decode(file.read_bytes())
            except (OSError, ValueError) as error:
                warnings.warn(
                    f"checkpoint {file} cannot be used ({error}); the one before it is, or the training starts anew",
                    CheckpointWarning,
                    stacklevel=2,
                )
        return None

    def remove(self) -> None:
        """Delete them all: the training is done."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def _files(self) -> list[Path]:
        """The checkpoints, newest first."""
        return sorted((file for file in self.folder.glob("step-*") if _NAME.fullmatch(file.name)), reverse=True)


def _decode(entry: bytes) -> dict[str, Any]:
    head, _, body = entry.partition(b"\n")
    if head != b"%s %s" % (_MAGIC, hashlib.sha256(body).hexdigest().encode()):
        raise ValueError("its checksum does not match: the file is damaged or truncated")
    try:
        state = torch.load(io.BytesIO(body), map_location="cpu", weights_only=True)
    except (RuntimeError, EOFError, pickle.UnpicklingError) as error:  # whole, but of another version of PyTorch
        raise ValueError(f"PyTorch cannot read it: {str(error).splitlines()[0]}") from None
    if not isinstance(state, dict):
        raise ValueError("it holds no state")
    return state
