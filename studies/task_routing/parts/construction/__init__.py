"""The transformers of the task-routing paper's theorems as explicit weights: build them, run them, check them."""
