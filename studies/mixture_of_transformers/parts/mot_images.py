"""Mixtures of small vision transformers on images (MT section 6, appendix B.2): digits, CIFAR, Fashion-MNIST."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import xarray as xr
from pydantic import Field, model_validator

from moestat.experiment import Cell
from moestat.replicates import Streams
from studies.mixture_of_transformers.parts import images
from studies.mixture_of_transformers.parts.mot_real import MixtureSettings, Problem, generator, measure

VERSION = 1


class Settings(MixtureSettings):
    """Settings of a cell."""

    patch: int = Field(4, ge=1, description="side of a patch in pixels; must divide height and width")
    foreign: float = Field(images.FOREIGN, ge=0, le=1, description="share of patches of another class")
    corrupted: float = Field(images.NOISE, ge=0, le=1, description="share of patches that are Gaussian noise")
    flips_and_crops: bool = Field(
        False, description="whether training images are flipped and cropped at random, as the paper does for CIFAR-10"
    )
    train: int = Field(0, ge=0, description="training images that are used, at most; 0: all")
    test: int = Field(0, ge=0, description="test images that are used, at most; 0: all")
    router: Literal["positions", "sum"] = Field(
        "positions", description="ours: a Theta for every position of a patch; 'sum' is the paper's sum_l Theta' X_l"
    )

    @model_validator(mode="after")
    def _shares(self) -> Settings:
        if self.foreign + self.corrupted > 1:
            raise ValueError(
                f"foreign and corrupted are {self.foreign:g} and {self.corrupted:g}; together they must be at most 1"
            )
        return self


def read_data(settings: Mapping[str, Any]) -> None:
    """Read the user's data once, before the first replicate; what is wrong with them is told with its place."""
    images.load(settings["data"])


def run(cell: Cell, replicates: Sequence[int], *, device: str = "cpu") -> xr.Dataset:
    """Train and evaluate one model per replicate; see ``mot_real.measure``."""
    return measure(cell, Settings.model_validate(dict(cell.settings)), replicates, device, problem)


def problem(settings: Settings, streams: Streams) -> Problem:
    """Return the patches of a replicate, and how its models read them."""
    from studies.mixture_of_transformers.parts.mixture_of_transformers import vision_transformer

    identity: dict[str, Any] = {"data": settings.data_sha256 or "digits"}
    found = images.load(settings.data) if settings.data else images.digits(streams("split", **identity))
    sizes = {"train": settings.train, "test": settings.test}
    if settings.train or settings.test:
        found = found.sample(settings.train, settings.test, streams("sample", **identity, **sizes))
    found = found.standardised()
    shares = {"foreign": settings.foreign, "noise": settings.corrupted}
    rng = streams("corruption", **identity, **sizes, **shares, patch=settings.patch)
    train, test = (
        images.corrupt(images.patches(pixels, settings.patch), label, rng, **shares)
        for pixels, label in ((found.train, found.train_class), (found.test, found.test_class))
    )
    augment = None
    if settings.flips_and_crops:
        moves = {"size": settings.patch, "height": found.train.shape[1]}
        augment = functools.partial(images.flip_and_crop, **moves, generator=generator(streams("flips and crops")))
    length, features = train.shape[1:]
    return Problem(
        inputs=(train, test),
        target=(found.train_class, found.test_class),
        outputs=len(found.classes),
        group=found.test_class,
        groups=found.classes,
        encoder=functools.partial(vision_transformer, length, features),
        reads=settings.router,
        features=features,
        augment=augment,
    )
