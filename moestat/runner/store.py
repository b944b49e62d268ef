"""What is on the disk: the shards of a preset's folder, sorted into valid, stale and damaged.

The listing is the truth. Which replicates are there is decided by their numbers, not by the blocks that they were
computed in, so blocks of any size, overlapping ones too, add up.
"""

from __future__ import annotations

import itertools
import json
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from moestat import files, versions
from moestat.errors import StaleError, UserError
from moestat.runner import shard
from moestat.runner.plan import Plan, slot_text
from moestat.sentences import counted, listed, show
from moestat.status import Status, lost

FAILED_FOR_GOOD = (Status.RAISED, Status.WORKER_DIED, Status.TIMED_OUT)


@dataclass(frozen=True)
class Entry:
    """A shard that was read and verified."""

    path: Path
    replicates: Sequence[int]
    status: Sequence[int]
    provenance: Mapping[str, Any]

    @property
    def order(self) -> tuple[bool, str]:
        """What sorts the shards of a cell: where two hold a replicate, the first counts. The clock has no say."""
        return any(s in FAILED_FOR_GOOD for s in self.status), str(self.path)


@dataclass
class Scan:
    """The shards of the folder ``root``, seen from a plan and the version of what computes it.

    ``usable`` has the shards of each digest in their order, ``stale`` says for each planned digest what differs, and in
    how many shards.
    """

    plan: Plan
    root: Path
    code: Mapping[str, str]
    usable: dict[str, list[Entry]] = field(default_factory=dict)
    stale: dict[str, list[tuple[str, Entry]]] = field(default_factory=dict)
    quarantined: list[str] = field(default_factory=list)

    def done(self, digest: str) -> dict[int, int]:
        """Return the status of each replicate of a cell that is there."""
        found: dict[int, int] = {}
        for entry in reversed(self.usable.get(digest, [])):
            found |= zip(entry.replicates, entry.status, strict=True)
        return {replicate: status for replicate, status in found.items() if replicate < self.plan.replicates}

    def failures(self, digest: str) -> dict[int, int]:
        """Return the status of each replicate that is there and did not converge."""
        return {replicate: status for replicate, status in self.done(digest).items() if status != Status.CONVERGED}

    def tally(self) -> dict[str, int]:
        """Count the replicates of the plan: all, done, missing, failed, not converged, and those of each status."""
        ended = Counter(status for digest in self.plan.by_digest for status in self.done(digest).values())
        done, total = ended.total(), self.plan.total
        counts = {"replicates": total, "done": done, "missing": total - done, **lost(ended.elements())}
        return counts | {status.name.lower(): ended[status] for status in Status}

    @property
    def used(self) -> list[Entry]:
        """All usable shards."""
        return list(itertools.chain(*self.usable.values()))

    def warnings(self) -> list[str]:
        """Say how many replicates are left out of the results, and how many warned of what, and in which cells."""
        least = self.plan.replicates
        spare = sum(len({r for e in entries for r in e.replicates if r >= least}) for entries in self.usable.values())
        asked = f"the {least} of each cell that were asked for are"
        left = [f"{counted(spare, 'replicate')} beyond {asked} there, and not in these results"] if spare else []
        counts: dict[str, Counter[str]] = {}
        for digest, (planned, *_) in self.plan.by_digest.items():
            for entry in self.usable.get(digest, []):
                warned = entry.provenance.get("warned")
                for text, count in warned.items() if isinstance(warned, dict) else ():
                    if type(count) is int:  # these are files that somebody may have made
                        counts.setdefault(show(text, 300)[1:-1], Counter())[planned.cell.label] += count
        return left + [
            f"{cells.total()} of {self.plan.total} replicates warned: {text} "
            f"({listed([f'{cell}: {count}' for cell, count in cells.items()], 4)})"
            for text, cells in counts.items()
        ]

    def reasons(self) -> dict[str, int]:
        """Return each way in which stale shards differ, with the number of their replicates, most of them first."""
        counts: Counter[str] = Counter()
        for why, entry in itertools.chain(*self.stale.values()):
            counts[why] += len(entry.replicates)
        return dict(counts.most_common())

    def refuse_stale(self) -> None:
        """Refuse to go on when there are stale shards, and say what changed, and what the user may type or write."""
        if self.stale:
            changes = [f"{text} ({count} replicates)" for text, count in self.reasons().items()]
            more = f"; and {len(changes) - 4} more differences" if len(changes) > 4 else ""
            ways = ("run(out=...)", "run(replace_stale=True)", "run(fresh=True)")
            out, replace, fresh = ways if self.plan.request.python else ("--out FOLDER", "--replace-stale", "--fresh")
            raise StaleError(
                f"{self.root} holds results of another version of this study: {'; '.join(changes[:4])}{more}. Nothing "
                f"was changed. Choose: {out} (keep both), {replace} (set these aside and compute them again), or "
                f"{fresh} (set everything aside)"
            )


def listing(root: Path) -> list[Path]:
    """Return the shard files below the folder of a preset, in order."""
    return sorted(p for p in (root / "shards").glob(f"*/*{shard.SUFFIX}") if not p.name.startswith("."))


def scan(root: Path, plan: Plan, code: Mapping[str, str], *, move: bool = True) -> Scan:
    """Read and verify every shard, and sort it by what the plan asks for.

    A shard is *usable* if its cell and code are the plan's. It is *stale* if its cell is the plan's but the code is
    not, or if the plan has another cell (other settings, another seed) at its arm and coordinates. Any other is left
    alone. A damaged file is moved to ``quarantine/``, or named and left without ``move``.
    """
    result = Scan(plan, root, code)
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
        planned = plan.by_slot.get(slot_text(header.arm, header.coords))
        group = plan.by_digest.get(header.digest) or ([planned] if planned is not None else [])
        if not group:
            continue
        digest, entry = group[0].digest, Entry(path, header.replicates, header.status, header.provenance)
        if why := cell_changes(header.cell, group[0].cell.canonical) + versions.changes(header.code, code):
            result.stale.setdefault(digest, []).append((", ".join(why), entry))
        else:
            result.usable.setdefault(digest, []).append(entry)
    for entries in result.usable.values():
        entries.sort(key=lambda entry: entry.order)
    return result


def cell_changes(old: str, new: str) -> list[str]:
    """Say in what the identity of a cell differs from another one."""
    if old == new:
        return []
    before, after = json.loads(old), json.loads(new)
    changes = [] if before["seed"] == after["seed"] else [f"seed {before['seed']!r} -> {after['seed']!r}"]
    before, after = before["settings"], after["settings"]
    for tables in (before, after):  # of parts, each by itself
        for key in [key for key, value in tables.items() if isinstance(value, dict)]:
            tables |= {f"{key}: {part}": value for part, value in tables.pop(key).items()}
    for key in sorted(before.keys() | after.keys()):
        was, now = (repr(settings.get(key, "not there")) for settings in (before, after))
        if was != now:
            changes.append(f"setting {key} {was} -> {now}")
    return changes


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
