"""The script of a SLURM array job that computes a study in parts."""

from __future__ import annotations

import re
import shlex
from dataclasses import replace

from moestat.errors import InputError
from moestat.runner.request import Request

SCRIPT = """\
#!/bin/bash
# submit:  job=$(sbatch --parsable {file})
# then:    sbatch --dependency=afterany:$job --wrap {collect}
# again:   the same two lines compute what is missing
#SBATCH --job-name={name}
#SBATCH --array=1-{parts}
#SBATCH --cpus-per-task={jobs}
#SBATCH --mem-per-cpu={memory}
#SBATCH --time={time}
#SBATCH --signal=B:TERM@60
#SBATCH --output=%x-%a.log

exec {command} --part "${{SLURM_ARRAY_TASK_ID}}/${{SLURM_ARRAY_TASK_COUNT}}" --jobs "${{SLURM_CPUS_PER_TASK}}"
"""


def script(request: Request, name: str, *, parts: int, blocks: int, time: str, memory: str, file: str) -> str:
    """Return the text of the script.

    Parameters
    ----------
    request : Request
        The run; its ``jobs`` are the processors of each part.
    name : str
        Of the study.
    parts : int
        Parts of the array.
    blocks : int
        Blocks of replicates that there are to share.
    time, memory : str
        Limits of one part, as SLURM writes them: ``02:00:00``, ``2G`` per processor.
    file : str
        Name of the script, for the line that submits it.

    Raises
    ------
    InputError
        If there are more parts than blocks, or a limit is not written as SLURM does.
    """
    if parts > blocks:
        raise InputError(
            f"--parts is {parts}, but there are {blocks} blocks of replicates to share; lower --parts, or --block"
        )
    if not re.fullmatch(r"(\d+-)?\d+(:\d\d){0,2}", time):
        raise InputError(f"--time is {time!r}; allowed are minutes, HH:MM:SS and D-HH:MM:SS")
    if not re.fullmatch(r"\d+[KMGT]?", memory):
        raise InputError(f"--memory is {memory!r}; allowed is a number with K, M, G or T, e.g. 2G")
    plain = replace(request, jobs=None, part=None)
    return SCRIPT.format(
        file=shlex.quote(file),
        collect=shlex.quote(plain.command("collect")),
        name=f"{name}-{request.preset}",
        parts=parts,
        jobs=request.jobs or 4,
        memory=memory,
        time=time,
        command=plain.command(),
    )
