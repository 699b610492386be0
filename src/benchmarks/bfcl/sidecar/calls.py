"""Call strings for the official executor, which evaluates them.

They are written anew from decoded values: names are names of the case's functions, values are literals. Anything else becomes a
name that nothing has, which the executor answers with an error, as it does for unknown functions.
"""

import keyword

from answers import Decoded
from decoder import NotDecodable

_UNKNOWN = "unknown_function"


class _Refused(Exception):
    pass


def executable_calls(decoded: Decoded, functions: frozenset[str]) -> list[str]:
    """What the official executor is given. Raises NotDecodable where the official code fails to write the call."""
    return [_executable(name, arguments, functions, decoded.from_json) for call in decoded.calls for name, arguments in call.items()]


def shown_calls(decoded: Decoded) -> list[str]:
    """The calls as the official code writes them into the conversation; never evaluated."""
    return [_written(name, arguments, None, decoded.from_json) for call in decoded.calls for name, arguments in call.items()]


def _executable(name: str, arguments: object, functions: frozenset[str], from_json: bool) -> str:
    try:
        return _written(name, arguments, functions, from_json)
    except _Refused:
        return _UNKNOWN


def _written(name: str, arguments: object, functions: frozenset[str] | None, from_json: bool) -> str:
    """Raises _Refused where `functions` are given and the call would be more than one of them with literals."""
    if not isinstance(arguments, dict):
        raise NotDecodable("arguments are no object")
    if functions is not None and not (name in functions and all(_is_name(key) for key in arguments)):
        raise _Refused
    if from_json:
        return f"{name}({','.join(f'{key}={_literal(value)}' for key, value in arguments.items())})"
    return f"{name}({', '.join(f'{key}={_value(value, functions)}' for key, value in arguments.items())})"


def _value(value: object, functions: frozenset[str] | None) -> str:
    """`parse_nested_value` of the official code: a dict whose values are all dicts is taken for a nested call."""
    if not isinstance(value, dict):
        return _literal(value)
    if not all(isinstance(item, dict) for item in value.values()):
        return "{" + ", ".join(f"'{_key(key, functions)}': {_value(item, functions)}" for key, item in value.items()) + "}"
    if not value:
        raise NotDecodable("an empty dict, which the official code takes for a nested call without a name")
    name = next(iter(value))
    return _written(name, value[name], functions, from_json=False)


def _literal(value: object) -> str:
    try:
        return repr(value)
    except (ValueError, RecursionError) as error:
        raise NotDecodable(f"cannot be written: {error}") from error


def _key(key: object, functions: frozenset[str] | None) -> object:
    """The official code writes keys between quotes without escaping them, so only keys that need no escaping can be written."""
    if functions is not None and any(character in f"{key}" for character in "'\\\n\r"):
        raise _Refused
    return key


def _is_name(key: object) -> bool:
    return isinstance(key, str) and key.isidentifier() and not keyword.iskeyword(key)
