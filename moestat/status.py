"""How a replicate ended. Failures are data: every replicate carries one of these, with a sentence."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import IntEnum


class Status(IntEnum):
    """Outcome of one solver run or one replicate. Only ``CONVERGED`` is a success."""

    CONVERGED = 0
    LIMIT = 1
    STALLED = 2
    NOT_FINITE = 3
    WORSE_THAN_TRUTH = 4
    RAISED = 8
    WORKER_DIED = 9
    TIMED_OUT = 10

    @property
    def sentence(self) -> str:
        """The outcome in one full sentence."""
        return _SENTENCES[self]

    @property
    def has_value(self) -> bool:
        """Whether the replicate still produced numbers: one without has failed, others may be *not converged*."""
        return self in (Status.CONVERGED, Status.LIMIT, Status.STALLED, Status.WORSE_THAN_TRUTH)


LOST = ("failed", "not_converged")


def lost(statuses: Iterable[int]) -> dict[str, int]:
    """Count the replicates that failed, which have no numbers, and those that have some and did not converge."""
    other = [status for status in map(Status, statuses) if status is not Status.CONVERGED]
    failed = sum(not status.has_value for status in other)
    return dict(zip(LOST, (failed, len(other) - failed), strict=True))


def told(counts: Mapping[str, int]) -> str:
    """Say it: ``1 failed, 2 not converged``."""
    return ", ".join(f"{counts[how]:,} {how.replace('_', ' ')}" for how in LOST)


_SENTENCES = {
    Status.CONVERGED: "The stopping criterion was met.",
    Status.LIMIT: "The iteration limit was reached before the stopping criterion was met.",
    Status.STALLED: "No step lowered the objective although the stopping criterion was not met.",
    Status.NOT_FINITE: "The objective or its derivatives were not finite.",
    Status.WORSE_THAN_TRUTH: "The loss is above that at the truth, so the search did not reach the global minimum.",
    Status.RAISED: "The computation raised an exception.",
    Status.WORKER_DIED: "The worker process died twice while computing this replicate.",
    Status.TIMED_OUT: "The replicate took longer than it was given (--timeout).",
}
