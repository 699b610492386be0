"""JSON object -> dataclass, with an error that names the field, the value and what is allowed."""

import dataclasses
import math
import types
import typing


def parse(cls: type, value: object, where: str, error: type[Exception]):
    """Build dataclass `cls` from the JSON object `value`; nested dataclasses by their annotation.

    Raises `error` for an unknown or missing field and for a value of the wrong type; `where` is the
    field path that the message starts with.
    """
    if not isinstance(value, dict):
        raise error(f"{where}: expected an object, got {value!r}")
    hints = typing.get_type_hints(cls)
    unknown = sorted(set(value) - set(hints))
    if unknown:
        raise error(f"{where}.{unknown[0]}: unknown field; allowed are {', '.join(sorted(hints))}")
    arguments = {}
    for field in dataclasses.fields(cls):
        if field.name in value:
            arguments[field.name] = _convert(hints[field.name], value[field.name], f"{where}.{field.name}", error)
        elif field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING:
            raise error(f"{where}.{field.name}: missing; add it")
    return cls(**arguments)


def _convert(hint, value, where: str, error: type[Exception]):
    origin, options = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        if value is None and type(None) in options:
            return None
        (hint,) = [option for option in options if option is not type(None)]
        return _convert(hint, value, where, error)
    if origin is typing.Literal:
        if value not in options:
            raise error(f"{where}: {value!r} is none of {', '.join(map(repr, options))}")
        return value
    if origin in (list, tuple):
        if not isinstance(value, list) or (origin is tuple and len(value) != len(options)):
            raise error(f"{where}: expected a list{f' of {len(options)}' if origin is tuple else ''}, got {value!r}")
        inner = options if origin is tuple else options * len(value)
        return origin(_convert(h, v, f"{where}[{i}]", error) for i, (h, v) in enumerate(zip(inner, value)))
    if dataclasses.is_dataclass(hint):
        return parse(hint, value, where, error)
    if hint is float and isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value):
        return float(value)
    if hint is not float and type(value) is hint:
        return value
    raise error(f"{where}: expected {'a finite number' if hint is float else hint.__name__}, got {value!r}")
