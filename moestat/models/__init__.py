"""Gates, experts and truths: values, derivatives, samplers; ``sample`` is :func:`moestat.models.truths.sample`."""

from moestat.models.truths import sample as sample
