"""Formulas as MathML, which browsers draw themselves: the pages need no script and no network."""

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.application import Sphinx
from sphinx.writers.html5 import HTML5Translator


def _inline(writer: HTML5Translator, node: nodes.math) -> None:
    writer.body.append(convert(node.astext()))
    raise nodes.SkipNode


def _display(writer: HTML5Translator, node: nodes.math_block) -> None:
    for formula in filter(str.strip, node.astext().split("\n\n")):  # as Sphinx itself reads a block
        # the converter knows the environment for whole pages only
        drawn = convert(formula.replace("{aligned}", "{align*}"), display="block")
        writer.body.append(f'<div class="formula" tabindex="0">{drawn}</div>\n')
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the renderer."""
    app.add_html_math_renderer("mathml", (_inline, None), (_display, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
