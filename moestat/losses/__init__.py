"""Distances between a fitted mixing measure and the truth."""
