"""Figures inside a page: an SVG that takes the page's colours, has unique ids and says what it shows."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from markupsafe import Markup, escape

from moestat.report import style
from moestat.report.hover import MARK, Known
from moestat.report.span import span

_MAPPED = {style.INK: None, style.PAGE: "page"} | dict.fromkeys(style.DARK, "palette")


def inline(svg: bytes, prefix: str, alternative: str, known: Sequence[Known] = ()) -> Markup:
    """Return a matplotlib SVG for an HTML page.

    Parameters
    ----------
    svg : bytes
        As :func:`moestat.report.style.save` makes it.
    prefix : str
        What tells its ids from those of the other figures on the page.
    alternative : str
        The text that stands for the figure where it cannot be seen.
    known : sequence of Known
        The lines of the panels: their points say their values, and ``data-series`` tells whose an element is.
    """
    text = svg.decode("utf-8")
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>\s*", "", text, flags=re.DOTALL)
    text = re.sub(r"<title>.*?</title>\s*", "", text, flags=re.DOTALL)
    text = re.sub(r"<!--.*?-->\s*", "", text, flags=re.DOTALL)
    text = _marked(text, known)
    text = re.sub(r'(\sid=")', rf"\1{prefix}-", text)
    text = re.sub(r'((?:xlink:)?href="#|url\(#)', rf"\1{prefix}-", text)
    head, _, body = text.partition(">")
    head = re.sub(r'\s(?:width|height|version)="[^"]*"', "", head)
    head += f' role="img" aria-label="{escape(alternative)}"'
    return Markup(head + ">" + _recoloured(body))


_POINT = re.compile(r"<use ([^>]*?)/>")


def _marked(text: str, known: Sequence[Known]) -> str:
    """Say whose each line is, and its values at the points, in place of the ids that carry it."""
    names = {index: name for one in known for index, name in one.names.items()}
    points = {place: said for one in known for place, said in one.points.items()}

    def opened(match: re.Match[str]) -> str:
        place, index = match.group(1), int(match.group(2))
        name = names.get(index, "")
        return f'<g data-series="{index}" data-name="{escape(name)}" data-place="{place}">'

    text = re.sub(rf'<g id="({MARK}(\d+)-[\d-]+)">', opened, text)
    for place, said in points.items():
        head = text.find(f'data-place="{place}"')
        if head < 0:
            continue
        end = _end_of_group(text, head)
        text = text[:head] + _titled(text[head:end], said) + text[end:]
    return re.sub(rf' data-place="{MARK}[\d-]+"', "", text)


def _titled(group: str, said: Sequence[str]) -> str:
    """Let the points of a line say something each."""
    left = iter(said)

    def named(match: re.Match[str]) -> str:
        words = next(left, "")
        return f"<use {match.group(1)}><title>{escape(words)}</title></use>" if words else match.group(0)

    return _POINT.sub(named, group)


def _end_of_group(text: str, start: int) -> int:
    """Return where the group ends that begins just before ``start``."""
    depth = 1
    for tag in re.finditer(r"<g\b|</g>", text[start:]):
        depth += 1 if tag.group(0) == "<g" else -1
        if not depth:
            return start + tag.start()
    return len(text)


def _recoloured(text: str) -> str:
    """Let the page decide the colours that the style uses; others (of a heat map, say) stay."""

    def replaced(match: re.Match[str]) -> str:
        colour = match.group(0).lower()
        if colour == style.INK:
            return "currentColor"
        return f"var(--svg-{colour[1:]})" if colour in _MAPPED else match.group(0)

    # only in style attributes and presentation attributes, never inside an embedded picture
    return re.sub(r"(?<=[: \"])#[0-9a-fA-F]{6}\b(?=[;\" ])", replaced, text)


def variables(*, dark: bool) -> str:
    """Return the CSS variables of the colours, for a light or a dark page."""
    lines = [f"--svg-{colour[1:]}: {other if dark else colour};" for colour, other in style.DARK.items()]
    return "\n".join([*lines, f"--svg-{style.PAGE[1:]}: var(--page);"])


def strip(
    low: float, high: float, region: tuple[float, float], value: float, predicted: float | None, width: int = 380
) -> Markup:
    """Return a small drawing of an interval beside the region of its rule; empty where there is no interval.

    It only repeats what the text says, so it is hidden from screen readers.
    """
    ends = span(low, high, value, region, predicted)
    if ends is None:
        return Markup("")
    left, right = ends

    def at(v: float) -> float:
        return round(4 + (width - 8) * (min(max(v, left), right) - left) / (right - left), 1)

    a, b = at(region[0]), at(region[1])
    parts = [
        f'<rect class="region" x="{a}" y="3" width="{max(b - a, 1):.1f}" height="16" rx="2"/>',
        f'<line class="axis" x1="4" x2="{width - 4}" y1="11" y2="11"/>',
    ]
    if predicted is not None and math.isfinite(predicted):
        x = at(predicted)
        parts.append(f'<path class="paper" d="M{x} 5 l6 6 -6 6 -6 -6 z"/>')
    parts.append(f'<line class="ci" x1="{at(low)}" x2="{max(at(high), at(low) + 1)}" y1="11" y2="11"/>')
    parts.append(f'<circle class="dot" cx="{at(value)}" cy="11" r="3.5"/>')
    for edge, anchor in zip(region, ("start", "end"), strict=True):
        if math.isfinite(edge):
            minus = f"{edge:g}".replace("-", "\N{MINUS SIGN}")
            middle = "middle" if 20 < at(edge) < width - 20 else anchor
            parts.append(f'<text x="{at(edge)}" y="29" text-anchor="{middle}">{minus}</text>')
    return Markup(f'<svg class="strip" viewBox="0 0 {width} 32" aria-hidden="true">{"".join(parts)}</svg>')
