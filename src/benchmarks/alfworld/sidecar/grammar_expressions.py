"""Expressions in a game's grammar, such as `{r.name}`: TextWorld 1.7.0 evaluates them in a way that Python 3.13 has ended."""

from textworld.envs.pddl import textgen


def install() -> None:
    textgen.EvalSymbol.derive = _derive


def _derive(symbol: textgen.EvalSymbol, context: dict | None = None) -> list:
    """The expression with the context's entities as its variables, which no longer reach it by way of `locals()`."""
    variables = (context or symbol.context)["variables"]
    return [textgen.TerminalSymbol(eval(symbol.expression, vars(textgen), variables))]
