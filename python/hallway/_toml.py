"""Writes a dict as TOML. The standard library only reads it."""

from __future__ import annotations

import json
from typing import Any, Mapping


def written(table: Mapping[str, Any]) -> str:
    """A document with a line for each key; tables inside are inline tables."""
    return "".join(f"{_key(key)} = {_value(value)}\n" for key, value in table.items())


def _key(key: Any) -> str:
    return json.dumps(str(key))


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return repr(value)
    if isinstance(value, str):
        # A JSON string is a TOML string, but for one letter.
        return json.dumps(value, ensure_ascii=True).replace("\x7f", "\\u007f")
    if isinstance(value, Mapping):
        pairs = (f"{_key(key)} = {_value(one)}" for key, one in value.items())
        return "{ " + ", ".join(pairs) + " }"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(_value(one) for one in value) + "]"
    raise TypeError(f"a scenario cannot contain a {type(value).__name__}")
