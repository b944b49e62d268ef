"""``moestat.rate_study``: the rates of a model, or of any function of (n, rng), as a study."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from moestat import callables
from moestat.doors import as_float64
from moestat.errors import InputError
from moestat.fit.entrance import check_search
from moestat.models import truths
from moestat.models.general import FunctionModel
from moestat.models.regression import Model
from moestat.rate_experiment import KEPT, OWN, Fitted, Mixture, refuse
from moestat.sentences import listed, nearest, show
from moestat.study.builder import Study


def rate_study(
    subject: Any = None,
    truth: Any = None,
    *,
    n: Sequence[int],
    seed: int,
    replicates: int = 20,
    fitted: int | None = None,
    arms: Mapping[str, Any] | None = None,
    search: str = "global",
    starts: int = 8,
    noise: float = 0.1,
    box: float = 5.0,
    x: truths.LawOfX = truths.uniform,
    law_of_noise: truths.LawOfNoise = truths.standard_normal,
    losses: Mapping[str, Callable[..., float]] | None = None,
    theory: Mapping[str, float] | None = None,
    name: str = "",
    title: str = "",
) -> Study:
    """Return the study of how errors fall with the sample size; its ``run()`` computes it.

    Parameters
    ----------
    subject : model or function
        What :func:`moestat.Model` returns; or a function of (n, rng) that returns a number, or a dictionary of them by
        the names of losses. It draws from ``rng``, a :class:`numpy.random.Generator`, and from nothing else.
    truth : array (N, P), function of x (n, d) to (n,), or pair (model, atoms)
        Of a model: its own atoms, or any function. Where ``fitted`` atoms cannot make it, fits are compared with the
        pseudo-truth, the nearest function that they can make; where several are as near, only with those found.
    n : sequence of int
        Sample sizes.
    seed, replicates : int
        Of the data; data sets of each size.
    fitted : int
        Of a model: the number of atoms.
    arms : mapping, optional
        Instead of the subject: name -> model or function. They share ``truth``, ``fitted``, and the streams of data.
    search, starts, box
        Of :func:`moestat.fit.least_squares`: from so many random starts, and to search the lowest minimum or not.
    noise : float, default 0.1
        Standard deviation of the noise, ``law_of_noise(rng, n)`` times it; x is drawn from the law ``x(rng, n, d)``,
        uniform on [-1, 1]^d by default.
    losses : mapping, optional
        Name -> function of atoms (N, P), those of the truth (K, N*, P), and the model, that returns a number. They
        stand beside ``voronoi`` (:func:`moestat.losses.general.voronoi`; :func:`moestat.losses.voronoi.L1` where gate
        and expert are names), ``rmse`` of the function to that of ``truth``, and ``excess``, what its mean squared
        distance to the truth exceeds floor^2 by: rmse^2 where the floor is 0.
    theory : mapping, optional
        Loss -> slope that a theory states; of a function these are the losses that the report has.
    name, title : str
        Of the results, ``outputs/<name>`` (that of the file, if absent), and of the report.

    Notes
    -----
    Results of a model also have the atoms of the lowest fit of every replicate, ``theta``, and ``truth``, those that it
    is compared with; ``floor``, how far these are from the truth; ``train_loss`` and ``truth_loss``, what fit and
    truth leave of the data; ``search_found``, how many of ``search_ends`` starts came to the lowest minimum.

    Raises
    ------
    moestat.errors.InputError
        If an argument is not allowed, or a function refers to what is not known by its value.
    """
    if (subject is None) == (arms is None):
        raise InputError("give a model or a function of (n, rng), or several as arms={'name': ...}")
    named = {_name(subject): subject} if arms is None else dict(arms)
    models = [one for one in named.values() if isinstance(one, Model | FunctionModel)]
    for arm, one in named.items():
        if not callable(one) and one not in models:
            raise InputError(
                f"{arm} is {show(one)}; allowed are what moestat.Model returns, and a function of (n, rng)"
            )
    if models and (truth is None or fitted is None):
        raise InputError("a model needs a truth, and fitted, the number of its atoms")
    if not models and (truth is not None or fitted is not None or losses):
        raise InputError("truth, fitted and losses belong to a model; a function has its own")
    _positive(starts, "starts", int)
    _check(losses or {}, theory or {}, search, noise, bool(models))
    shared = {"fitted": fitted, "search": search, "starts": starts, "noise": noise, "box": box} if models else {}
    study = Study(title or f"Rates of {', '.join(named)}", name=name, seed=seed, grid={"n": n}, settings=shared)
    study.tables["experiment"] = "moestat.rate_experiment"
    for arm, one in named.items():
        values = {_name(one): one}
        if one in models:
            task = Fitted(one, _function(truth, one), x, law_of_noise, dict(losses or {}))
            refuse(task, _positive(fitted, "fitted", int), _positive(box, "box", int | float))
            values = {"model": task}
        study.arm(arm, code=callables.keep(values))
    study.preset(
        "quick", replicates=replicates, block=replicates // 10 if isinstance(replicates, int) and replicates > 10 else 1
    )
    told = [*OWN, *(losses or {})] if models else []
    for loss in dict.fromkeys([*told, *(theory or {})]):
        bound = {"bound": theory[loss]} if theory and loss in theory else {}
        study.rate(loss, **bound)
    if not name and not study.file.is_file():
        study.name = next(iter(named)) if arms is None else "rate_study"
    return study


def _check(losses: Mapping[str, Any], theory: Mapping[str, float], search: str, noise: Any, model: bool) -> None:
    """Refuse what would be refused, or not seen, only in the run."""
    for name, loss in losses.items():
        if name in KEPT or not callable(loss):
            what = "is a variable of every model" if name in KEPT else f"is {show(loss)}"
            allowed = "other names, and functions of (atoms, truth, model)"
            raise InputError(f"the loss {name!r} {what}; allowed are {allowed}")
    known = [*OWN, *losses]
    if model and (unknown := [name for name in theory if name not in known]):
        raise InputError(f"theory has {unknown[0]!r}, no loss{nearest(unknown[0], known)}; losses are {listed(known)}")
    check_search(search)
    if not isinstance(noise, int | float) or isinstance(noise, bool) or not noise >= 0:
        raise InputError(f"noise is {show(noise)}; allowed are numbers from 0, a standard deviation")


def _positive(value: Any, name: str, kind: Any) -> Any:
    if not isinstance(value, kind) or isinstance(value, bool) or not value > 0:
        whole = "whole numbers from 1" if kind is int else "numbers above 0"
        raise InputError(f"{name} is {show(value)}; allowed are {whole}")
    return value


def _name(subject: Any) -> str:
    """Return the name of an arm that has none."""
    if isinstance(subject, Model):
        return f"{subject.gate}-{subject.expert}".replace(":", "_")
    if isinstance(subject, FunctionModel):
        return "model"
    name = getattr(subject, "__name__", "function")
    return name if name.isidentifier() else "function"


def _function(truth: Any, model: Model | FunctionModel) -> Callable[[np.ndarray], np.ndarray]:
    """Return the truth as a function; that of the model's own atoms says so."""
    if callable(truth):
        return truth
    of, atoms = truth if isinstance(truth, tuple) and isinstance(truth[0], Model | FunctionModel) else (model, truth)
    atoms = np.asarray(as_float64(atoms, "truth"))
    if atoms.ndim != 2 or atoms.shape[1] != of.atom_size or of.d != model.d:
        raise InputError(f"truth has shape {atoms.shape}; allowed is (N, {of.atom_size}), a row for each atom")
    return Mixture(of, atoms)
