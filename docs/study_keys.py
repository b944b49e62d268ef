"""The keys of a study file as tables, made from its schema."""

from pydantic.fields import FieldInfo

from moestat.study import spec

TABLES = {
    "Top level": spec.Study,
    "[[arms]]": spec.Arm,
    "[presets.NAME]": spec.Preset,
    "[[rates]]": spec.Rate,
    "[[parameters]]": spec.Parameter,
    "[[claims]]": spec.Claim,
    "[[findings]]": spec.Finding,
    "[[figures]]": spec.Figure,
    "[[figures.panels]]": spec.Panel,
}


def page() -> str:
    """Return one Markdown table per table of a study file."""
    parts = []
    for title, model in TABLES.items():
        parts += [f"## `{title}`" if title.startswith("[") else f"## {title}", (model.__doc__ or "").split("\n\n")[0]]
        rows = [f"| `{name}` | {_default(field)} | {_text(field)} |" for name, field in model.model_fields.items()]
        parts.append("\n".join(["| key | default | meaning |", "| --- | --- | --- |", *rows]))
    return "\n\n".join(parts) + "\n"


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "*required*"
    value = field.get_default(call_default_factory=True)
    return "" if value in (None, "", [], {}) else f"`{_toml(value)}`"


def _toml(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return str(value).replace("'", '"') if isinstance(value, list) else repr(value).replace("'", '"')


def _text(field: FieldInfo) -> str:
    said = (field.description or "").replace("|", r"\|").replace("*", r"\*").replace("<", "&lt;")
    annotation = str(field.annotation)
    if "Literal[" in annotation and "Union" not in annotation:
        inside = annotation.split("Literal[", 1)[1].split("]", 1)[0].replace("'", "")
        said = f"{said}{'; ' if said else ''}one of {inside}"
    return said
