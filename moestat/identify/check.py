r"""The numerical identifiability check of an expert under a sigmoid gate.

The theory asks whether derivatives of :math:`F = \sigma(x'Ax + b'x + c) E(x, \eta)` are linearly independent functions
of x (see :mod:`moestat.identify.families`). They are evaluated at many points and at parameters drawn at random; an
exact dependency shows as a singular value at rounding level, and its null vector is a partial differential equation of
F. The best conditioned of several draws counts, because independence at one set of parameters is independence at almost
all of them. The points fill a cube larger than [-1, 1]^d, on which analytic functions are independent if and only if
they are on that one, and where the numbers are better conditioned; the kinks of piecewise experts lie inside.

What the definitions leave to the reader is reported, not decided in silence.

* *Which relations do harm.* Some functions of Definition 1 coincide for every expert: F_A(0) ~ F_{b b}(0), the first
  equation of (8), and for every phi(a'x + beta) F_{b beta}(0) ~ F_a(0), the third. Printed literally, nothing is
  strongly identifiable under the fully quadratic score. A relation does harm when its second-order part is positive
  semidefinite (:func:`moestat.identify.evaluate.distance_to_harm`): the first does (two atoms with b = t and -t and A
  of order t^2 change f by t^3 only, whatever the expert, so no n^(-1/4) for b follows), the second does not. The
  verdict "strong" means that no harmful relation exists; ``strong_but_for_gate`` whether the gate's own are all.
* *Generic or any distinct parameters.* The verdict is at generic parameters. ``configurations`` holds special ones that
  the printed "any distinct parameters" includes: opposite gates with one expert break independence for every expert,
  since sigmoid(s) + sigmoid(-s) = 1; one gate with colinear experts breaks it for ReLU and linear experts, which then
  split exactly.
* *Order zero.* The proof of Theorem 1 needs E itself, the weight error, among the functions, so it is included;
  Definition 1 lists the orders 1 and 2 alone (``order_zero``). With it an expert that has Euler's identity
  eta'E_eta = p E (ReLU, polynomials, anything with an outer scale) has a harmful relation.

Hence some verdicts differ from the examples in "sigmoid-attention", section 4; the relations say why.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from moestat import own
from moestat.identify.derivatives import NAMES, Function, Parametric
from moestat.identify.derivatives import numerical as numerical_expert
from moestat.identify.derivatives import two_layer as two_layer_expert
from moestat.identify.evaluate import Evaluator, Placement
from moestat.identify.relations import HARM, Identification

_GENERIC = (Placement(), Placement(gate=1, eta=1))
_SPECIAL = {
    "two gates, experts eta and 2 eta": (Placement(), Placement(gate=1, eta_factor=2.0)),
    "one gate, two experts": (Placement(), Placement(eta=1)),
    "one gate, experts eta and 2 eta": (Placement(), Placement(eta_factor=2.0)),
    "opposite gates, one expert": (Placement(), Placement(gate_factor=-1.0, c_factor=-1.0)),
    "a constant gate, (A, b) = 0": (Placement(gate_factor=0.0),),
    "a vanishing expert, eta = 0": (Placement(eta_factor=0.0),),
}


def identify(
    expert: str | Function,
    *,
    score: str = "full",
    d: int = 2,
    atoms: int = 2,
    power: int = 1,
    outer_scale: bool = False,
    parameters: tuple[str, ...] | None = None,
    draw: Callable[[np.random.Generator], np.ndarray] | None = None,
    order_zero: bool = True,
    seed: int = 0,
) -> Identification:
    """Check the identifiability of an expert under a sigmoid gate.

    Parameters
    ----------
    expert : str or callable
        "relu", "gelu", "tanh", "linear", "polynomial" (of degree ``power``); the import path "module:function" of an
        activation phi of one's own (:mod:`moestat.own`) for phi(a'x + beta); or a function E(x, eta) of points (m, d)
        and ``parameters`` (their names) to values (m,). It should take complex ``eta`` where it is analytic, which
        makes its derivatives exact; with real ones only they are good to some ten digits.
    score : {"full", "partial", "linear"}
        Fully quadratic, without b, or without A.
    d, atoms : {1, 2}
        Dimension of x, and atoms in the families. In d = 1 smooth functions are nearly dependent: prefer 2.
    outer_scale : bool
        Whether a named expert carries an outer factor, lambda phi(a'x + beta).
    draw : callable, optional
        Draws a function's parameters from a generator; standard normal by default.
    order_zero : bool
        Whether the family of Definitions 1 and 3 holds E itself, as the proof of Theorem 1 needs it, or the orders 1
        and 2 alone, as printed.

    Examples
    --------
    >>> linear = identify("linear", d=1, atoms=1)
    >>> linear.verdict
    'weak'
    >>> for equation in linear.equations:
    ...     if equation.holds_for != "this expert":
    ...         print(equation)
    F_{A c} = F_{b b} F_{A beta} = F_{b a} F_{b beta} = F_{c a}
    """
    if d not in (1, 2) or atoms not in (1, 2):
        raise ValueError(f"d is {d} and atoms is {atoms}; allowed are 1 and 2")
    if score not in ("full", "partial", "linear"):
        raise ValueError(f"score is {score!r}; allowed are full, partial, linear")
    name, model = _expert(expert, d, power, outer_scale, parameters)
    check = Evaluator(model, score, d, seed, draw)
    generic = _GENERIC[:atoms]
    first, strong = check.family("first", generic), check.family("strong" if order_zero else "printed", generic)
    second = check.family("second", _GENERIC[:1])
    if first is None or strong is None or second is None:
        raise ValueError(f"{name} has no second derivatives in its parameters at most points of the cube")
    families = {label: check.family("first", specs) for label, specs in _SPECIAL.items()}
    special = {label: family for label, family in families.items() if family is not None}
    if not (first.clear and strong.clear):
        verdict = "undecided"
    elif not first.independent:
        verdict = "neither"
    else:
        verdict = "strong" if strong.harmless else "weak"
    exponents = {
        "dense": -0.5 if verdict in ("strong", "weak") else None,
        "sparse exact": -0.5 if verdict == "strong" else None,
        "sparse over": -0.25 if verdict == "strong" else None,
    }
    but_for_gate = verdict in ("strong", "weak") and strong.harm_but_for_gate > HARM
    return Identification(
        name, score, d, atoms, verdict, but_for_gate, first, strong, second.relations, special, exponents
    )


def _expert(
    expert: str | Function, d: int, power: int, outer_scale: bool, parameters: tuple[str, ...] | None
) -> tuple[str, Parametric]:
    if isinstance(expert, str):
        if own.is_path(expert):
            own.load(expert)
        elif expert not in NAMES:
            others = "an import path 'module:function', and functions E(x, eta)"
            raise ValueError(f"expert is {expert!r}; allowed are {', '.join(NAMES)}, {others}")
        if power < 1 or (power > 1 and expert != "polynomial"):
            raise ValueError(f"power is {power}; it must be at least 1, and 1 unless the expert is 'polynomial'")
        name = expert + (f" of degree {power}" if expert == "polynomial" else "")
        return name + (" with outer scale" if outer_scale else ""), two_layer_expert(expert, d, power, outer_scale)
    if not parameters:
        raise ValueError("an expert given as a function needs the names of its parameters")
    return getattr(expert, "__name__", "expert"), numerical_expert(expert, parameters)
