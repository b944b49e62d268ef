"""Mixtures of transformers: training in three stages, on patches, images and text."""
