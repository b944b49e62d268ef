"""How long a run will take, by what its preset says in words."""

from __future__ import annotations

import re

NUMBERS = {"a": 1.0, "an": 1.0, "one": 1.0, "two": 2.0, "three": 3.0, "half": 0.5, "several": 5.0}
UNITS = {"s": 1.0, "second": 1.0, "minute": 60.0, "hour": 3600.0, "day": 86400.0}
UNIT = r"\b(seconds?|s|minutes?|hours?|days?)\b"
TIME = re.compile(rf"(?:[\w.]+ (?:{UNIT} )?to )?(?:(half) an?|([\w.]+))? ?{UNIT}")
CORES = re.compile(r"\bon (\d+) (?:idle )?cores\b")


def stated(text: str, jobs: int) -> float | None:
    """Return the seconds that a preset's ``expected`` states, on so many processes; None where it states none.

    Of a range it is the upper end; without a number of cores the processes do not matter.

    >>> stated("about 10 minutes on 2 cores", 2), stated("60 to 100 minutes on 2 cores", 4)
    (600.0, 3000.0)
    >>> stated("not measured; estimated at half an hour on 2 cores", 2), stated("not measured", 2)
    (1800.0, None)
    >>> stated("90 s to 3 minutes on 2 cores, idle to busy", 2)
    180.0
    """
    found = TIME.search(text)
    if found is None:
        return None
    count = 0.5 if found[2] else _number(found[3] or "several")
    if count is None:
        return None
    cores = CORES.search(text)
    return count * UNITS[found[4].rstrip("s") or "s"] * (int(cores[1]) / max(jobs, 1) if cores else 1.0)


def brief(text: str) -> str:
    """Return the time that a preset's ``expected`` states as it is listed, on the cores that it names; "?" for none.

    >>> brief("about 90 s on 2 cores"), brief("2 to 7 minutes on 2 cores, idle to busy"), brief("a night")
    ('90 s', '7 min', '?')
    """
    cores = CORES.search(text)
    seconds = stated(text, int(cores[1]) if cores else 1)
    if seconds is None:
        return "?"
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds <= 7200 else f"{seconds / 3600:.3g} h"


def _number(word: str) -> float | None:
    try:
        return NUMBERS[word] if word in NUMBERS else float(word)
    except ValueError:
        return NUMBERS["several"] if word == "hours" else None
