"""Completion of the command line in a shell, by argcomplete where it is installed.

Switch it on with ``eval "$(register-python-argcomplete moestat)"``.
"""

from __future__ import annotations

import argparse
import os
import shlex
from collections.abc import Callable
from typing import Any

from moestat import cli_options, cli_verbs


def serve(parser: Callable[[str], argparse.ArgumentParser]) -> None:
    """Answer the shell, and leave the process, if it is the shell that asks.

    Parameters
    ----------
    parser : callable
        Subcommand -> its parser.
    """
    if "_ARGCOMPLETE" not in os.environ:
        return
    import argcomplete

    argcomplete.autocomplete(complete_parser(os.environ.get("COMP_LINE", ""), parser))


def complete_parser(line: str, parser: Callable[[str], argparse.ArgumentParser]) -> argparse.ArgumentParser:
    """Return the parser that completes a command line: that of its subcommand, once there is one."""
    try:
        words = shlex.split(line)
    except ValueError:  # a quotation that is still open
        words = line.split()
    commands = (*cli_options.COMMANDS, *cli_verbs.ABOUT)
    if len(words) > 1 and words[1] in commands and not line.endswith(words[1]):
        chosen = argparse.ArgumentParser(add_help=False)
        below = chosen.add_subparsers(parser_class=lambda **_: _with_names(parser(words[1])))  # type: ignore[call-overload]
        below.add_parser(words[1])
        return chosen
    return _with_names(parser("run"), commands)


def _with_names(parser: argparse.ArgumentParser, more: tuple[str, ...] = ()) -> argparse.ArgumentParser:
    """Give the arguments that take a name the names that there are."""
    from moestat.runner.experiments import own_experiments
    from moestat.study import keys, load

    names: dict[str, Callable[[], list[str]]] = {
        "study": lambda: [*more, *load.known_studies()],
        "experiment": lambda: list(own_experiments()),
        "preset": _presets,
        "paper": _papers,
        "table": lambda: [keys.name_of(title) for title in keys.TABLES],
    }
    for action in parser._actions:
        if action.dest in names:
            action.completer = _completer(names[action.dest])  # type: ignore[attr-defined]
    return parser


def _completer(names: Callable[[], list[str]]) -> Callable[..., list[str]]:
    def complete(prefix: str, **_: Any) -> list[str]:
        return [name for name in names() if name.startswith(prefix)]

    return complete


def _presets() -> list[str]:
    from moestat.study import load

    words = os.environ.get("COMP_LINE", "").split()
    known = load.known_studies()
    tables = [load.parse(known[word])[1].get("presets", {}) for word in words if word in known]
    return list(tables[0]) if tables else ["quick", "paper"]


def _papers() -> list[str]:
    from moestat.study import load

    return sorted({str(load.parse(path)[1].get("paper", "")) for path in load.known_studies().values()})
