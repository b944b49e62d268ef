"""The keys of a study file as tables, made from its schema."""

from moestat.study import keys


def page() -> str:
    """Return one Markdown table per table of a study file."""
    parts = []
    for title in keys.TABLES:
        parts += [f"## `{title}`" if title.startswith("[") else f"## {title}", keys.about(title)]
        rows = [f"| `{key.key}` | {_code(key.default)} | {_plain(key.meaning)} |" for key in keys.of(title)]
        parts.append("\n".join(["| key | default | meaning |", "| --- | --- | --- |", *rows]))
    return "\n\n".join(parts) + "\n"


def _code(default: str) -> str:
    return f"*{default}*" if default == "required" else f"`{default}`" if default else ""


def _plain(text: str) -> str:
    return text.replace("|", r"\|").replace("*", r"\*").replace("<", "&lt;")
