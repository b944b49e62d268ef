"""What a user can put right: printed as one sentence, without a traceback, with an exit code."""

from __future__ import annotations


class UserError(Exception):
    """A problem outside the code: a full disk, a locked folder, a run that is not complete."""

    exit_code = 1


class InputError(UserError):
    """A mistake in a study file or on the command line."""

    exit_code = 2


class StaleError(UserError):
    """Results on disk that other settings, another seed or other code computed."""

    exit_code = 3
