"""Solvers: they know residuals and likelihoods, not papers."""
