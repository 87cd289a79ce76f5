"""Records a part of the running program."""

from __future__ import annotations

import contextlib
import glob
import os
import sys
import tempfile
import time
from typing import Any, Iterator, Optional

from ._command import PathLike, advise, explain
from ._results import Advice, Trace

# The recorder writes what it has this often.
_FLUSHED_AFTER = 1.2


class Recording:
    """What was recorded. It is there when the ``with`` block has ended."""

    def __init__(self) -> None:
        self.path: Optional[str] = None
        self._folder: Optional[tempfile.TemporaryDirectory[str]] = None

    def advise(self, *, profile: Optional[PathLike] = None) -> Advice:
        """What would speed it up."""
        return advise(self._recorded(), profile=profile)

    def explain(self, *, profile: Optional[PathLike] = None) -> Trace:
        """Where its time goes."""
        return explain(self._recorded(), profile=profile)

    def _recorded(self) -> str:
        if self.path is None:
            raise RuntimeError("nothing is recorded yet: ask after the `with` block")
        return self.path


@contextlib.contextmanager
def recording() -> Iterator[Recording]:
    """Records what the program does meanwhile.

    A process that was started by ``hallway record`` uses that recorder; its recording has all since
    the start of the process. Otherwise PyTorch's profiler records, if PyTorch is loaded.
    """
    found = Recording()
    prefix = os.environ.get("HALLWAY_RECORD_FILE")
    if prefix is not None:
        yield found
        time.sleep(_FLUSHED_AFTER)
        own = glob.glob(f"{glob.escape(prefix)}.{os.getpid()}.*part")
        if not own:
            raise RuntimeError("the recorder has written nothing: does this process use CUDA?")
        found.path = max(own, key=os.path.getmtime)
        return
    torch: Any = sys.modules.get("torch")
    if torch is None:
        raise RuntimeError(
            "nothing can record here: import torch first, or start the program by "
            "`hallway record -- python ...`"
        )
    found._folder = tempfile.TemporaryDirectory(prefix="hallway-")
    with torch.profiler.profile() as profiler:
        yield found
    path = os.path.join(found._folder.name, "trace.json")
    profiler.export_chrome_trace(path)
    found.path = path
