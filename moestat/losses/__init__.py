"""Distances between a fitted mixing measure and the truth.

The functions take arrays as users have them: numbers of any real type, lists, masked arrays; they compute in float64
(:mod:`moestat.doors`). A fit that is not finite, or masked in part, has the loss NaN or is refused.
:func:`moestat.losses.rescore.rescore` is the entrance for whole studies: it also leaves out fits that are not usable,
says which, and refuses a truth that is not finite.
"""
