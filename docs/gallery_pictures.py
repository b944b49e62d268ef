"""The pictures that an example of the gallery saves in its folder, moved into its page."""

import shutil
from pathlib import Path
from typing import Any

from sphinx_gallery.scrapers import figure_rst


def saved(block: tuple[Any, ...], variables: dict[str, Any], settings: dict[str, Any]) -> str:
    """Move new PNG files to where the page looks for its pictures, and return the lines that show them."""
    moved = []
    for picture, target in zip(
        sorted(Path(variables["src_file"]).parent.glob("*.png")), variables["image_path_iterator"], strict=False
    ):
        shutil.move(picture, target)
        moved.append(target)
    return str(figure_rst(moved, settings["src_dir"]))
