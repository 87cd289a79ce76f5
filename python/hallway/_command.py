"""Runs the program ``hallway`` and reads what it answers."""

from __future__ import annotations

import dataclasses
import json
import os
import shutil
import subprocess
import sysconfig
import tempfile
from typing import Any, Dict, List, Mapping, Optional, Type, TypeVar, Union

from ._results import Advice, Evaluation, Trace, read
from ._toml import written

PathLike = Union[str, "os.PathLike[str]"]
T = TypeVar("T", Advice, Evaluation, Trace)


class HallwayError(RuntimeError):
    """hallway refused, or could not answer. ``code`` is its exit code."""

    def __init__(self, message: str, code: int) -> None:
        super().__init__(message)
        self.code = code


def evaluate(
    scenario: Union[PathLike, Mapping[str, Any]],
    *,
    profile: Optional[PathLike] = None,
    draws: Optional[int] = None,
    seed: Optional[int] = None,
) -> Evaluation:
    """Predicts the plans of a scenario: a TOML file, a trace, or a dict with a scenario's keys."""
    options = _options(profile, draws, seed)
    if not isinstance(scenario, Mapping):
        return _asked(Evaluation, ["evaluate", os.fspath(scenario), *options])
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "scenario.toml")
        with open(path, "w", encoding="utf-8") as file:
            file.write(written(scenario))
        return _asked(Evaluation, ["evaluate", path, *options])


def advise(
    trace: PathLike,
    *,
    profile: Optional[PathLike] = None,
    program: Optional[str] = None,
    draws: Optional[int] = None,
    seed: Optional[int] = None,
) -> Advice:
    """Says what would speed up a program: a recording, a profiler's trace, or a scenario."""
    options = _options(profile, draws, seed)
    if program is not None:
        options += ["--program", program]
    return _asked(Advice, ["advise", os.fspath(trace), *options])


def explain(trace: PathLike, *, profile: Optional[PathLike] = None) -> Trace:
    """Says where the time in a trace goes, and why copies were not hidden."""
    return _asked(Trace, ["explain", os.fspath(trace), *_options(profile, None, None)])


def _options(
    profile: Optional[PathLike], draws: Optional[int], seed: Optional[int]
) -> List[str]:
    options: List[str] = []
    if profile is not None:
        options += ["--profile", os.fspath(profile)]
    if draws is not None:
        options += ["--draws", str(draws)]
    if seed is not None:
        options += ["--seed", str(seed)]
    return options


def _asked(of: Type[T], arguments: List[str]) -> T:
    """Asks twice: for the values, and for the words."""
    data: Dict[str, Any] = json.loads(_run([*arguments, "--format", "json"]))
    inner = data["advice"] if of is Advice else data
    answer = read(of, inner)
    return dataclasses.replace(answer, text=_run(arguments), raw=data)


def _run(arguments: List[str]) -> str:
    done = subprocess.run([_binary(), *arguments], capture_output=True, text=True, check=False)
    # 1 is an answer, too: nothing could be compared, or a check did not pass.
    if done.returncode not in (0, 1) or not done.stdout:
        raise HallwayError(_message(done.stderr), done.returncode)
    return done.stdout


def _message(stderr: str) -> str:
    """What the program says is wrong. Where JSON was asked for, that is JSON as well."""
    for line in stderr.splitlines():
        if line.startswith("{"):
            error = json.loads(line).get("error", {})
            helped = f" ({error['help']})" if error.get("help") else ""
            return f"{error.get('message', line)}{helped}"
    return stderr.strip() or "hallway gave no answer"


def _binary() -> str:
    """The program that came with this package, or the first one in the path."""
    name = "hallway.exe" if os.name == "nt" else "hallway"
    own = os.path.join(sysconfig.get_path("scripts"), name)
    found = os.environ.get("HALLWAY") or (own if os.path.exists(own) else shutil.which(name))
    if not found:
        raise HallwayError("hallway was not found: install this package again", 2)
    return found
