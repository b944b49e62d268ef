"""One module per kind of experiment: its settings and its computation."""
