"""Distances between a fitted mixing measure and the truth.

:func:`moestat.losses.rescore.rescore` is the checked entrance: it takes lists and numbers of any type, makes them
float64, leaves out fits that are not finite, and refuses a truth that is not.

The functions themselves, those of :mod:`moestat.losses.voronoi` among them, are what experiments call, and check shapes
only. Give them finite float64 arrays, ``np.asarray(truth, dtype=np.float64)``: integers and float32 are misread by the
losses of softmax gates; integer fits cut the distances of :mod:`moestat.losses.matching`,
:mod:`~moestat.losses.quotient` and :mod:`~moestat.losses.minimisers` to whole numbers; a fit with NaN gives NaN or an
error of SciPy.
"""
