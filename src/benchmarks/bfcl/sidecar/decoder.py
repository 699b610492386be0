"""The official text decoder (`ast_parse` in bfcl_eval.model_handler.utils) without its eval(): model text is read, never run.

Held to the official one by test/benchmarks/bfcl-decoder.test.ts. Its ways are kept where they decide verdicts: positional
arguments are dropped, `+5` and `~5` are -5, `f(x=g(1))` has the text 'g(1)' for x, `f(x=g(y=1))` has {'g': {'y': 1}}.
"""

import ast

from arithmetic import constant_value

# No answer that a benchmark's case asks for comes near it.
MOST_CHARACTERS = 100_000

Calls = list[dict[str, dict]]


class NotDecodable(Exception):
    """The text is no list of calls."""


def decode_calls(text: str) -> Calls:
    """`[f(a=1), g(b="x")]` as [{"f": {"a": 1}}, {"g": {"b": "x"}}]; back-ticks around it and missing brackets are forgiven.

    Raises NotDecodable.
    """
    try:
        return [_call(node) for node in _call_nodes(bracketed(text))]
    except NotDecodable:
        raise
    # Whatever the parser and the arithmetic raise on hostile text (RecursionError, MemoryError, OverflowError ...) says the same.
    except Exception as error:
        raise NotDecodable(f"{type(error).__name__}: {error}") from error


def bracketed(text: str) -> str:
    """The text as the official decoders prepare it for every language."""
    if len(text) > MOST_CHARACTERS:
        raise NotDecodable(f"longer than {MOST_CHARACTERS} characters")
    text = text.strip("`\n ")
    if not text.startswith("["):
        text = "[" + text
    return text if text.endswith("]") else text + "]"


def _call_nodes(text: str) -> list[ast.Call]:
    body = ast.parse(text.strip().strip("'"), mode="eval").body
    nodes = [body] if isinstance(body, ast.Call) else body.elts
    if not all(isinstance(node, ast.Call) for node in nodes):
        raise NotDecodable("holds what is no call")
    return nodes


def _call(node: ast.Call) -> dict[str, dict]:
    parts = []
    function = node.func
    while isinstance(function, ast.Attribute):
        parts.append(function.attr)
        function = function.value
    if isinstance(function, ast.Name):
        parts.append(function.id)
    return {".".join(reversed(parts)): {keyword.arg: _value(keyword.value) for keyword in node.keywords}}


def _value(node: ast.expr) -> object:
    match node:
        case ast.Constant():
            return "..." if node.value is Ellipsis else node.value
        case ast.UnaryOp():
            return -node.operand.value
        case ast.List():
            return [_value(item) for item in node.elts]
        case ast.Tuple():
            return tuple(_value(item) for item in node.elts)
        case ast.Dict():
            return {_value(key): _value(value) for key, value in zip(node.keys, node.values, strict=True)}
        case ast.BinOp():
            return constant_value(node)
        case ast.Name():
            return node.id
        case ast.Call():
            return _call(node) if node.keywords else ast.unparse(node)
        case ast.Subscript():
            return f"{ast.unparse(node.value)}[{ast.unparse(node.slice)}]"
    raise NotDecodable(f"no literal: {type(node).__name__}")
