"""Work that the official code does again and again for the same result: without it a step takes 10 ms, not 100, and tells the same."""

import copy
from functools import lru_cache

import fast_downward
import textworld.logic
from textworld.envs.pddl import textgen

# Each game has two, of about a megabyte each: room for the games that are played side by side.
_problems = 64


def install() -> None:
    # Translated for the first episode of a game, and twice in every one.
    fast_downward.pddl2sas = lru_cache(maxsize=_problems)(fast_downward.pddl2sas)

    # The few templates of the grammar are parsed for every admissible command of every step. Derivations write to what they parsed.
    parsed = lru_cache(maxsize=None)(textgen._parse_and_convert)
    textgen._parse_and_convert = lambda text, rule_name, trace=False: copy.deepcopy(parsed(text, rule_name=rule_name))
    textworld.logic.Rule.parse_conjunctive_query = lru_cache(maxsize=None)(textworld.logic.Rule.parse_conjunctive_query)

    # Entities in a context are read only: their table is copied, they are not.
    textgen.copy_context = lambda context: {**context, "variables": dict(context["variables"]), "mapping": dict(context["mapping"])}
