"""The bridge to PyTorch that several papers share: decoder, language-model training, corpora, checkpoints."""
