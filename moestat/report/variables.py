"""The variables that an experiment returns, with their words: what claims, rates and tables of a study may name."""

from __future__ import annotations

from collections.abc import Mapping

from moestat.runner import experiments, labels


def of_experiment(name: str) -> dict[str, str]:
    """Return the variables that are an experiment's own, in words with units.

    They are those of ``variables.toml``, and those that the module itself describes in dicts called ``OF_...`` or
    ``OVER_...``, name -> text, or name -> (..., text). A ``*`` stands for another variable or a part of one.
    """
    module, common = experiments.own_experiments().get(name, name), labels.texts_of("")
    texts = {key: text for key, text in labels.texts_of(module).items() if common.get(key) != text}
    for constant, value in vars(experiments.load(module, "settings")).items():
        if constant.startswith(("OF_", "OVER_")) and isinstance(value, Mapping):
            last = {str(key): text[-1] if isinstance(text, tuple) and text else text for key, text in value.items()}
            texts |= {key: [text] for key, text in last.items() if isinstance(text, str)}
    return {key: _words(*text) for key, text in texts.items()}


def common() -> str:
    """Return a sentence that names the variables which any experiment may return."""
    return f"Of every experiment that has them: {', '.join(labels.texts_of(''))}."


def _words(meaning: str, units: str = "") -> str:
    meaning = meaning.replace("{}", "...")  # the long name of what the star stands for
    return f"{meaning} [{units}]" if units else meaning
