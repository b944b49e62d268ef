"""Gates, experts and ground truths: values, derivatives, samplers."""
