"""Values of constant expressions, which the official decoder hands to eval()."""

import ast
import operator

# Larger results are refused before they are computed.
MOST_BITS = 4096
MOST_ITEMS = 100_000

_NUMBERS = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}


def constant_value(node: ast.expr) -> object:
    """What Python would evaluate the expression to: literals, arithmetic on numbers, `+` and `*` on texts and lists.

    Raises ValueError for anything else and for results beyond the limits, and what the arithmetic itself raises.
    """
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.List):
        return [constant_value(item) for item in node.elts]
    if isinstance(node, ast.Tuple):
        return tuple(constant_value(item) for item in node.elts)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.UAdd):
        operand = _number(constant_value(node.operand))
        return -operand if isinstance(node.op, ast.USub) else +operand
    if isinstance(node, ast.BinOp):
        return _binary(node.op, constant_value(node.left), constant_value(node.right))
    raise ValueError(f"no literal: {type(node).__name__}")


def _binary(op: ast.operator, left: object, right: object) -> object:
    if isinstance(left, str | list | tuple) or isinstance(right, str | list | tuple):
        return _sequence(op, left, right)
    left, right = _number(left), _number(right)
    if isinstance(op, ast.Pow):
        if isinstance(left, int) and isinstance(right, int) and left.bit_length() * abs(right) > MOST_BITS:
            raise ValueError("number too large")
        return left**right
    if type(op) not in _NUMBERS:
        raise ValueError(f"no arithmetic: {type(op).__name__}")
    if any(isinstance(side, int) and side.bit_length() > MOST_BITS for side in (left, right)):
        raise ValueError("number too large")
    return _NUMBERS[type(op)](left, right)


def _sequence(op: ast.operator, left: object, right: object) -> object:
    if isinstance(op, ast.Add) and type(left) is type(right) and len(left) + len(right) <= MOST_ITEMS:
        return left + right
    if isinstance(op, ast.Mult):
        items, times = (right, left) if isinstance(left, int) else (left, right)
        if isinstance(times, int) and len(items) * times <= MOST_ITEMS:
            return items * times
    raise ValueError("no arithmetic on these")


def _number(value: object) -> int | float | complex:
    if isinstance(value, int | float | complex):
        return value
    raise ValueError(f"no number: {type(value).__name__}")
