"""The number of experts: accuracy, dispatch entropy, and the smoothness of a noisy router."""
