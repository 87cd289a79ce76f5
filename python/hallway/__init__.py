"""Predicts whether offloading to a GPU pays, and what would speed up a CUDA program.

>>> import hallway
>>> hallway.evaluate("scenarios/stream-saxpy.toml").scenarios[0].verdict.answer
'cpu'
>>> hallway.advise("train.hallway").best.steps[-1].factor
2.9
"""

from ._command import HallwayError, advise, evaluate, explain
from ._recording import Recording, recording
from ._results import (
    Advice,
    Assessment,
    Breakdown,
    Change,
    Combination,
    Evaluation,
    Measured,
    NoGain,
    Place,
    Plan,
    Site,
    Takes,
    TimedRange,
    Trace,
    Verdict,
)

__all__ = [
    "Advice",
    "Assessment",
    "Breakdown",
    "Change",
    "Combination",
    "Evaluation",
    "HallwayError",
    "Measured",
    "NoGain",
    "Place",
    "Plan",
    "Recording",
    "Site",
    "Takes",
    "TimedRange",
    "Trace",
    "Verdict",
    "advise",
    "evaluate",
    "explain",
    "recording",
]
