"""Sigmoid self-attention as a mixture of experts: least squares, Voronoi losses, identifiability."""
