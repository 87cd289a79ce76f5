"""The results of hallway as dataclasses. The keys are those of its JSON, with the same meaning:
docs/reference/json.md describes them. Times end in ``_ns`` and are whole nanoseconds. What is not
listed here is in ``raw``."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import Any, Dict, List, Optional, Type, TypeVar, get_args, get_origin, get_type_hints

T = TypeVar("T")


def read(of: Type[T], data: Dict[str, Any]) -> T:
    """Reads a dataclass from the JSON that belongs to it."""
    hints = get_type_hints(of)
    values = {}
    for one in dataclasses.fields(of):  # type: ignore[arg-type]
        if one.name == "raw":
            values["raw"] = data
        elif one.name in data:
            values[one.name] = _value(hints[one.name], data[one.name])
        elif one.default is dataclasses.MISSING and one.default_factory is dataclasses.MISSING:
            raise ValueError(f"hallway's answer lacks `{one.name}`: its version does not fit")
    return of(**values)


def _value(hint: Any, value: Any) -> Any:
    if value is None:
        return None
    if get_origin(hint) is list:
        return [_value(get_args(hint)[0], one) for one in value]
    for one in get_args(hint) or (hint,):
        if dataclasses.is_dataclass(one) and isinstance(value, dict):
            return read(one, value)
    return value


@dataclass(frozen=True)
class Plan:
    """A way to run the scenario, with its predicted time."""

    rank: int
    plan: str
    side: str
    predicted_ns: int
    low_ns: int
    high_ns: int
    raw: Dict[str, Any] = field(repr=False, default_factory=dict)


@dataclass(frozen=True)
class Verdict:
    """The answer for a scenario."""

    answer: str
    raw: Dict[str, Any] = field(repr=False, default_factory=dict)


@dataclass(frozen=True)
class Assessment:
    """What is predicted for one scenario."""

    scenario: str
    verdict: Verdict
    winner: Optional[str]
    plans: List[Plan]
    raw: Dict[str, Any] = field(repr=False, default_factory=dict)


@dataclass(frozen=True)
class Evaluation:
    """What ``hallway evaluate`` says. ``text`` is the answer in words."""

    scenarios: List[Assessment]
    text: str = field(repr=False, default="")
    raw: Dict[str, Any] = field(repr=False, default_factory=dict)

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class TimedRange:
    """A predicted time of a pass, with its 90% range."""

    predicted_ns: int
    low_ns: int
    high_ns: int


@dataclass(frozen=True)
class Breakdown:
    """What goes on during a pass. The parts add up to it."""

    kernels_ns: int
    copies_ns: int
    both_ns: int
    idle_ns: int


@dataclass(frozen=True)
class Place:
    """Calls that a change is about."""

    call: int
    function: str
    memory: Optional[str]
    bytes: Optional[int]
    times: int


@dataclass(frozen=True)
class Takes:
    """What a change needs in addition to what the program uses today."""

    pinned_bytes: int
    device_bytes: int
    streams: int
    once_ns: Optional[int]
    pays_from_passes: Optional[int]


@dataclass(frozen=True)
class Measured:
    """What running a changed program on the GPU showed."""

    pass_ns: int
    factor: float


@dataclass(frozen=True)
class Change:
    """A remedy, and how much faster the program gets with it."""

    remedy: str
    factor: float
    factor_range: List[float]
    time: TimedRange
    breakdown: Breakdown
    places: List[Place]
    conditions: List[str]
    takes: Takes
    measured: Optional[Measured] = None
    raw: Dict[str, Any] = field(repr=False, default_factory=dict)


@dataclass(frozen=True)
class Combination:
    """Several remedies together."""

    steps: List[Change]
    takes: Takes
    least_ns: int
    measured: Optional[Measured] = None


@dataclass(frozen=True)
class NoGain:
    """A remedy that does not help by itself."""

    remedy: str
    refusal: Optional[str]
    factor: Optional[float]
    is_combined: bool


@dataclass(frozen=True)
class Advice:
    """What ``hallway advise`` says. ``text`` is the answer in words."""

    today: TimedRange
    breakdown: Breakdown
    changes: List[Change]
    only_if: List[Change]
    best: Optional[Combination]
    no_gain: List[NoGain]
    text: str = field(repr=False, default="")
    raw: Dict[str, Any] = field(repr=False, default_factory=dict)

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class Site:
    """Copies of one kind, made in one place of the program."""

    direction: str
    memory: str
    bytes: Optional[int]
    range: Optional[str]
    copies: int
    time_ns: int
    hidden_ns: int
    reason: Optional[str]


@dataclass(frozen=True)
class Trace:
    """What ``hallway explain`` says of a trace. ``text`` is the answer in words."""

    passes: Optional[int]
    pass_ns: int
    kernels_alone_ns: int
    copies_alone_ns: int
    both_ns: int
    idle_ns: int
    sites: List[Site]
    text: str = field(repr=False, default="")
    raw: Dict[str, Any] = field(repr=False, default_factory=dict)

    def __str__(self) -> str:
        return self.text
