"""The torch bridge; nothing else in the package imports torch."""
