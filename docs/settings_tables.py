"""The settings and variables of every experiment as tables, made from the experiments themselves."""

from moestat.report import variables
from moestat.runner import experiments


def page() -> str:
    """Return two Markdown tables per experiment: of its settings, and of the variables that it returns."""
    parts = []
    for name in experiments.own_experiments():
        about, rows = experiments.described(name)
        parts += [f"## `{name}`", about]
        lines = [
            f"| `{row.key}` | {row.kind} | {_code(row.default)} | {_plain(row.allowed)} | {_plain(row.meaning)} |"
            for row in rows
        ]
        head = ["| setting | type | default | allowed | meaning |", "| --- | --- | --- | --- | --- |"]
        parts.append("\n".join([*head, *lines]))
        lines = [f"| `{key}` | {_plain(words)} |" for key, words in variables.of_experiment(name).items()]
        parts.append("\n".join(["| variable | meaning |", "| --- | --- |", *lines]))
    return "\n\n".join([*parts, _plain(variables.common())]) + "\n"


def _code(text: str) -> str:
    return f"*{text}*" if text == "required" else f"`{text}`" if text else ""


def _plain(text: str) -> str:
    for sign in "|*<_$":
        text = text.replace(sign, f"\\{sign}")
    return text
