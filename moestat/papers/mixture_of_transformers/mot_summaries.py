"""What is read off the recorded curves of a mixture of transformers: laws of stage III, lengths of stages I and II."""

from __future__ import annotations

import numpy as np

from moestat.papers.mixture_of_transformers.decay import decay, first_passage

STAGES = ("start", "I", "II", "III")
"""Labels of the dimension ``stage``: before the first step, and the ends of the three stages."""

LEVELS = 10.0 ** -np.arange(1.0, 6.25, 0.5)
"""Levels eps of the training loss whose iterations are counted."""

FEW = 10
"""Iterations below which a passage is left out of the laws of T(eps): the loss starts too close to the level."""

TUNING_DIMS = {"tuning_train_loss": ("tuning",), "tuning_test_loss": ("tuning",), "iterations_to": ("eps",)}
"""Dimensions after the replicates' of what :func:`tuning` returns; the rest has none."""

Arrays = dict[str, np.ndarray]


def tuning(epochs: np.ndarray, begin: int, train_loss: np.ndarray, test_loss: np.ndarray) -> tuple[Arrays, Arrays]:
    """Fit laws to the losses of stage III.

    Parameters
    ----------
    epochs : (E,) int array
    begin : int
        T2.
    train_loss, test_loss : (B, E) arrays

    Returns
    -------
    values, coords : dict
        ``tuning_train_loss`` and ``tuning_test_loss`` over ``tuning``, the steps since T2; for both (``test_...`` for
        the latter), fitted to the last two decades, ``slope``, ``geometric_rate``, ``aic_gain`` (positive: the power
        law is closer), ``r2_power`` and ``r2_geometric``, and ``last_slope``, the exponent of the last decade. For the
        training loss ``iterations_to`` over ``eps``, its exponent ``time_exponent`` (T = eps^-b, eps <= 0.01) and
        ``time_aic_gain`` (positive: T(eps) is closer to a power of 1/eps than to a multiple of log(1/eps)). Nothing at
        all if stage III has no steps.
    """
    steps = epochs - begin
    inside = steps > 0
    if not inside.any():
        return {}, {}
    t = steps[inside]
    values: Arrays = {}
    window = t >= t[-1] / 100
    for prefix, loss in (("", train_loss[:, inside]), ("test_", test_loss[:, inside])):
        fitted = decay(t[window], loss[:, window])
        values[f"tuning_{prefix or 'train_'}loss"] = loss
        values[f"{prefix}geometric_rate"] = fitted.rate
        for name in ("slope", "aic_gain", "r2_power", "r2_geometric", "last_slope"):
            values[prefix + name] = getattr(fitted, name)
    passage = first_passage(t, train_loss[:, inside], LEVELS)
    laws = np.array([_laws_of_time(row) for row in passage])
    values |= {"iterations_to": passage, "time_exponent": laws[:, 0], "time_aic_gain": laws[:, 1]}
    return values, {"tuning": t, "eps": LEVELS}


def _laws_of_time(passage: np.ndarray) -> tuple[float, float]:
    """Return b of T = C eps^-b, and AIC(T = a + b log(1/eps)) - AIC(T = C eps^-b), both for T itself."""
    used = np.isfinite(passage) & (passage >= FEW) & (LEVELS <= 0.0101)
    if used.sum() < 4:
        return np.nan, np.nan
    x, t = -np.log(LEVELS[used]), passage[used]
    exponent, _ = np.polyfit(x, np.log(t), 1)
    # both laws are judged by the errors of log T, so that they see the same likelihood
    linear = np.polyval(np.polyfit(x, t, 1, w=1 / t), x)
    power = np.polyval(np.polyfit(x, np.log(t), 1), x)
    rss_linear = np.sum((np.log(np.maximum(linear, 1e-12)) - np.log(t)) ** 2)
    rss_power = np.sum((power - np.log(t)) ** 2)
    return float(exponent), float(len(t) * np.log(rss_linear / rss_power))


def stage_lengths(
    epochs: np.ndarray,
    ends: tuple[int, int, int],
    out: dict[str, np.ndarray],
    gap_level: float,
    loss_level: float,
    attention_level: float,
) -> tuple[Arrays, dict[str, str]]:
    """Return how long stages I and II take until they have done what they are for; NaN where they do not.

    Returns
    -------
    values : dict
        ``steps_to_gap`` and ``steps_to_loss``, steps of stage I until the mean specialisation gap and the test loss
        reach their level; ``steps_to_attention`` and ``steps_to_quarter``, steps of stage II until p(v_n, v_n) reaches
        its level and the training loss a quarter of what it was; and ``..._reached`` with the truth of each.
    about : dict
        What each of the steps means, with its level.
    """
    first, second = epochs <= ends[0], (epochs >= ends[0]) & (epochs <= ends[1])
    begin = int(np.argmax(epochs == ends[0]))
    train_loss, test_loss = out["train_loss"], out["test_loss"]
    passages = {
        "steps_to_gap": (first, out["gap"] >= gap_level),
        "steps_to_loss": (first, test_loss <= loss_level),
        "steps_to_attention": (second, out["self_attention"] >= attention_level),
        "steps_to_quarter": (second, train_loss <= train_loss[:, begin : begin + 1] / 4),
    }
    about = {
        "steps_to_gap": f"stage I: specialisation gap of {gap_level:g}",
        "steps_to_loss": f"stage I: test loss of {loss_level:g}",
        "steps_to_attention": f"stage II: $p(v_n, v_n)$ of {attention_level:g}",
        "steps_to_quarter": "stage II: a quarter of the training loss",
    }
    values: Arrays = {}
    for name, (inside, done) in passages.items():
        steps = epochs[inside] - (0 if inside is first else ends[0])
        hit = done[:, inside]
        reached = np.any(hit, axis=1)
        values[name] = np.where(reached, steps[np.argmax(hit, axis=1)], np.nan)
        values[f"{name}_reached"] = reached
    return values, about
