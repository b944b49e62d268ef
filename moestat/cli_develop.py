"""The command line while an experiment is being written: stop at the first failure."""

from __future__ import annotations

import sys

from moestat.errors import UserError
from moestat.runner.request import Request


def debug(request: Request, *, post_mortem: bool) -> int:
    """Compute one replicate of every cell in this process; the first failure ends it, with its traceback."""
    from moestat.runner import debug as runner

    failure = runner.debug(request, lambda text: None if request.quiet else print(text, file=sys.stderr, flush=True))
    if failure is None:
        last = (request.replicates or 1) - 1
        tried = f"replicates 0 to {last}" if last else "replicate 0"
        print(f"no failure in {tried} of each cell (--replicates R for more); nothing was stored")
        return 0
    if failure.text:
        print(failure.text, file=sys.stderr)
    raise UserError(f"{failure.where}: {failure.sentence}; nothing was stored")
