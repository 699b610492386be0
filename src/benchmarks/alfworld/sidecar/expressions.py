"""Expressions in a game's grammar, such as `r.name or r.id`: variables, their fields, texts, `+`, `and` and `or`.

The games are downloaded, and TextWorld evaluates whatever Python their grammar holds. Here nothing else has a value: no call, no
private name, nothing but the game's own entities."""

import ast
from functools import lru_cache

MAX_LENGTH = 500


def evaluate(expression: str, variables: dict) -> object:
    """The value of an expression. Raises ValueError for one that no game's grammar needs."""
    return _value(_parse(expression), variables)


@lru_cache(maxsize=4096)
def _parse(expression: str) -> ast.expr:
    if len(expression) > MAX_LENGTH:
        raise ValueError(f"an expression of {len(expression)} characters; a grammar has at most {MAX_LENGTH}")
    try:
        return ast.parse(expression.strip(), mode="eval").body
    except SyntaxError as error:
        raise ValueError(f"no expression: {expression!r}") from error


def _value(node: ast.expr, variables: dict) -> object:
    match node:
        case ast.Constant(value=str() as text):
            return text
        case ast.Name(id=name) if name in variables:
            return variables[name]
        case ast.Attribute(value=entity, attr=field) if not field.startswith("_"):
            return getattr(_value(entity, variables), field)
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            first, second = _value(left, variables), _value(right, variables)
            if isinstance(first, str) and isinstance(second, str):
                return first + second
        case ast.BoolOp(op=operator, values=values):
            value = None
            for part in values:
                value = _value(part, variables)
                if bool(value) == isinstance(operator, ast.Or):
                    break
            return value
    raise ValueError(f"not evaluated: {ast.unparse(node)[:100]!r}")
