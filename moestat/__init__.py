"""Simulation studies of convergence rates in mixture-of-experts models.

Importing the package is cheap: it loads neither torch nor CuPy.
"""

__version__ = "0.1.0"
