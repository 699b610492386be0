"""Expressions in a game's grammar are evaluated by `expressions.py`: TextWorld 1.7.0 takes any Python, in a way that Python 3.13 has ended."""

from expressions import evaluate
from textworld.envs.pddl import textgen


def install() -> None:
    textgen.EvalSymbol.derive = _derive


def _derive(symbol: textgen.EvalSymbol, context: dict | None = None) -> list:
    return [textgen.TerminalSymbol(evaluate(symbol.expression, (context or symbol.context)["variables"]))]
