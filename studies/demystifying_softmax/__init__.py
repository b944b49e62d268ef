"""Softmax-gated Gaussian experts: maximum likelihood and its Voronoi losses."""
