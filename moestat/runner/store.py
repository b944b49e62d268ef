"""What is on the disk: the shards of a preset's folder, sorted into valid, stale and damaged.

The listing is the truth. Which replicates are there is decided by their numbers, not by the blocks that they were
computed in, so blocks of any size, overlapping ones too, add up.
"""

from __future__ import annotations

import itertools
import json
import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from moestat import files, versions
from moestat.errors import StaleError, UserError
from moestat.runner import shard
from moestat.runner.plan import Plan, PlannedCell, slot_text
from moestat.status import Status

FAILED_FOR_GOOD = (Status.RAISED, Status.WORKER_DIED, Status.TIMED_OUT)
CONTENT = "_sha256"
"""End of the name of a setting that holds a hash of the file which another setting names."""


@dataclass(frozen=True)
class Entry:
    """A shard that was read and verified; ``why`` says in what it differs from the plan, if it is stale."""

    path: Path
    digest: str
    replicates: Sequence[int]
    status: Sequence[int]
    provenance: Mapping[str, Any]
    why: tuple[str, ...] = ()

    @property
    def seconds(self) -> float:
        """The time that the shard took."""
        return float(self.provenance["seconds"])


@dataclass
class Scan:
    """The shards of a folder, seen from a plan. ``usable`` and ``stale`` are by the digest of the planned cell."""

    plan: Plan
    usable: dict[str, list[Entry]] = field(default_factory=dict)
    stale: dict[str, list[Entry]] = field(default_factory=dict)
    quarantined: list[str] = field(default_factory=list)

    def done(self, digest: str, *, retry: bool = False) -> bytearray:
        """Return one byte for each replicate of a cell: 1 where a shard holds it.

        With ``retry`` a replicate that raised, timed out, or whose worker died, counts as missing.
        """
        flags = bytearray(self.plan.replicates)
        for entry in self.usable.get(digest, []):
            for replicate, status in zip(entry.replicates, entry.status, strict=True):
                if replicate < len(flags) and not (retry and status in FAILED_FOR_GOOD):
                    flags[replicate] = 1
        return flags

    def failures(self, digest: str) -> dict[int, int]:
        """Return the status of each replicate that is there and did not converge."""
        best: dict[int, int] = {}
        for entry in reversed(in_order(self.usable.get(digest, []))):
            best |= zip(entry.replicates, entry.status, strict=True)
        return {r: status for r, status in best.items() if r < self.plan.replicates and status != Status.CONVERGED}

    def tally(self) -> dict[str, int]:
        """Count the replicates of the plan: all, done, missing, failed, and those of each status."""
        done = sum(sum(self.done(digest)) for digest in self.plan.by_digest)
        failed = Counter(status for digest in self.plan.by_digest for status in self.failures(digest).values())
        counts = {"replicates": self.plan.total, "done": done, "missing": self.plan.total - done}
        counts["failed"] = failed.total()
        counts |= {status.name.lower(): failed[status] for status in Status}
        return counts | {"converged": done - failed.total()}

    @property
    def used(self) -> list[Entry]:
        """All usable shards."""
        return list(itertools.chain(*self.usable.values()))


def in_order(entries: Sequence[Entry]) -> list[Entry]:
    """Sort the shards of a cell: where two hold the same replicate, the first one counts. The clock has no say.

    Those without a failure for good come first, then it goes by name.
    """
    return sorted(entries, key=lambda e: (any(s in FAILED_FOR_GOOD for s in e.status), e.path.parent.name, e.path.name))


def listing(root: Path) -> Iterator[Path]:
    """Yield the shard files below the folder of a preset, in order."""
    yield from sorted(p for p in (root / "shards").glob(f"*/*{shard.SUFFIX}") if not p.name.startswith("."))


def scan(root: Path, plan: Plan, code: Mapping[str, str], *, move: bool = True) -> Scan:
    """Read and verify every shard, and sort it by what the plan asks for.

    A shard is *valid* if its cell and code are the plan's. It is *stale* if its cell is the plan's but the code is
    not, or if the plan has another cell (other settings, another seed) at its arm and coordinates. Any other is left
    alone. A damaged file is moved to ``quarantine/``, or named and left without ``move``.
    """
    result = Scan(plan)
    for path in listing(root):
        try:
            header, _ = shard.read(path)
        except FileNotFoundError:  # another process set it aside
            continue
        except shard.DamagedShardError as error:
            where = set_aside(root, [path], "quarantine") / path.parent.name / path.name if move else path
            result.quarantined.append(f"{where} ({error})")
            continue
        except UserError as error:
            raise UserError(f"{path} {error}; use the version that wrote it, or another --out") from None
        _sort(result, path, header, code)
    return result


def _sort(result: Scan, path: Path, header: shard.Header, code: Mapping[str, str]) -> None:
    plan, digest, slot = result.plan, header.digest, slot_text(header.arm, header.coords)
    why: list[str] = []
    if digest not in plan.by_digest:
        if slot not in plan.by_slot:
            return
        digest = plan.by_slot[slot].digest
        why = cell_changes(header.cell, plan.by_slot[slot])
    why += versions.changes(header.code, code)
    entry = Entry(path, header.digest, header.replicates, header.status, header.provenance, tuple(why))
    (result.stale if why else result.usable).setdefault(digest, []).append(entry)


def cell_changes(old: str, planned: PlannedCell) -> list[str]:
    """Say in what an old cell's identity differs from the planned one."""
    before, after = json.loads(old), json.loads(planned.cell.canonical)
    changes = [] if before["seed"] == after["seed"] else [f"seed {before['seed']!r} -> {after['seed']!r}"]
    before, after = before["settings"], after["settings"]
    for key in sorted(before.keys() | after.keys()):
        named = key.removesuffix(CONTENT)
        if key not in before:
            changes.append(f"setting {key} is new (now {after[key]!r})")
        elif key not in after:
            changes.append(f"setting {key} is gone (was {before[key]!r})")
        elif before[key] == after[key] and type(before[key]) is type(after[key]):
            continue
        elif key == "own_code":
            changes.append("the code of your own functions that the settings name")
        elif named != key and before.get(named) == after.get(named):
            changes.append(f"the content of {after.get(named)}")
        else:
            changes.append(f"setting {key} {before[key]!r} -> {after[key]!r}")
    return changes


def reasons(result: Scan) -> dict[str, int]:
    """Return each way in which stale shards differ, with the number of their replicates, most of them first."""
    counts: Counter[str] = Counter()
    for entry in itertools.chain(*result.stale.values()):
        counts[", ".join(entry.why)] += len(entry.replicates)
    return dict(counts.most_common())


def refuse_stale(result: Scan, root: Path) -> None:
    """Refuse to go on when there are stale shards, and say what changed, and what the user may type."""
    if result.stale:
        changes = [f"{text} ({count} replicates)" for text, count in reasons(result).items()]
        more = f"; and {len(changes) - 4} more differences" if len(changes) > 4 else ""
        raise StaleError(
            f"{root} holds results of another version of this study: {'; '.join(changes[:4])}{more}. "
            "Nothing was changed. Choose: --out FOLDER (keep both), --replace-stale (set these aside and compute them "
            "again), or --fresh (set everything aside)"
        )


def set_aside(root: Path, paths: Sequence[Path], kind: str = "set-aside") -> Path:
    """Move shards to a new folder below ``set-aside/`` (or ``quarantine/``) and return it; nothing is ever deleted.

    What another process (of another part, say) moved before is left where that put it.
    """
    for number in itertools.count(1):
        target = root / kind / f"{number:03d}"
        with suppress(FileExistsError):
            target.mkdir(parents=True)
            break
    for path in paths:
        place = target / path.parent.name
        place.mkdir(exist_ok=True)
        with suppress(FileNotFoundError):  # another process was faster
            os.replace(path, place / path.name)
    files.sync_folder(target)
    return target
