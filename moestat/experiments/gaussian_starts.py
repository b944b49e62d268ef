"""Start rules of softmax-gated Gaussian experts under their former import path."""

from moestat.papers.demystifying_softmax.gaussian_starts import published_starts

__all__ = ["published_starts"]
