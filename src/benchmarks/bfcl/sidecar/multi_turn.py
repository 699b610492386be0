"""Multi-turn episodes. Everything here runs in a throw-away process: the official instances live in its globals and die with it.

Answers are given by turn and step: [[answer, ...], ...].
"""

import functools
import importlib
import inspect
from typing import NamedTuple

from answers import Decoded, decode_answer
from calls import executable_calls, shown_calls
from cases import Case
from decoder import NotDecodable
from official import (
    CLASS_FILE_PATH_MAPPING,
    execute_multi_turn_func_call,
    format_execution_results_prompting,
    is_empty_execute_response,
    multi_turn_checker,
)
from single_turn import wrong

Turns = list[list[dict]]


class AnswerCalls(NamedTuple):
    """Calls of an answer as they are shown and as they are run; whether the official decoder would have refused them."""

    shown: list[str]
    run: list[str]
    converted: bool


def load_backends(cases: dict[str, Case]) -> None:
    """Imports what episodes need: a confined process opens no file."""
    importlib.import_module("_strptime")
    for name in {name for case in cases.values() for name in case.entry["involved_classes"]}:
        _methods(name)


def last_turn(case: Case, turns: Turns, category: str, setting: str) -> dict:
    """Runs an episode as far as it has come: {"steps", "ended"} of its last turn.

    A step is an answer with calls: {"results": texts in the order of its calls, "feedback": the same as one message of prompting}.
    Ended says that the last answer calls nothing.
    """
    functions = _functions(case)
    steps: list[dict | None] = []
    for turn in turns:
        steps = []
        for answer in turn:
            calls = _decoded(answer, setting, functions)
            steps.append(None if calls is None else _run(case, calls, category, setting))
    return {"steps": [step for step in steps if step is not None], "ended": steps[-1] is None}


def _run(case: Case, calls: AnswerCalls, category: str, setting: str) -> dict:
    shown, run, _ = calls
    config, classes = case.entry["initial_config"], case.entry["involved_classes"]
    results, _ = execute_multi_turn_func_call(run, config, classes, setting, case.entry["id"], long_context="long_context" in category)
    return {"results": results, "feedback": format_execution_results_prompting({}, results, {"model_responses_decoded": shown})}


def episode_verdict(case: Case, turns: Turns, category: str, setting: str) -> dict:
    """{"valid", "reason", "error", "converted"} on a whole episode."""
    if len(turns) != len(case.truth):
        return wrong("multi_turn:force_terminated", converted=False)
    return _check(case, turns, case.truth, category, setting)


def turn_verdict(case: Case, turns: Turns, category: str, setting: str) -> dict:
    """On the last of the turns alone; those before it should be the truth's own."""
    return _check(case, turns, case.truth[: len(turns)], category, setting)


def _check(case: Case, turns: Turns, truth: list[list[str]], category: str, setting: str) -> dict:
    functions = _functions(case)
    decoded = [[calls for calls in (_decoded(answer, setting, functions) for answer in turn) if calls is not None] for turn in turns]
    converted = any(calls.converted for turn in decoded for calls in turn)
    runs = [[calls.run for calls in turn] for turn in decoded]
    try:
        result = multi_turn_checker(runs, truth, case.entry, category, setting)
    # States that a call has filled with another type of value may not even be comparable.
    except Exception as error:
        return wrong("checker_error", f"{type(error).__name__}: {error}", converted=converted)
    if result["valid"]:
        return {"valid": True, "reason": None, "error": None, "converted": converted}
    return wrong(result["error_type"], result["error_message"], converted=converted)


def _decoded(answer: dict, setting: str, functions: frozenset[str]) -> AnswerCalls | None:
    """The calls of an answer; None without any."""
    try:
        decoded: Decoded = decode_answer(answer, setting)
        shown, run = shown_calls(decoded), executable_calls(decoded, functions)
    except NotDecodable:
        return None
    return None if is_empty_execute_response(run) else AnswerCalls(shown, run, decoded.converted)


def _functions(case: Case) -> frozenset[str]:
    """All that the official executor resolves for the case, held-out functions too."""
    return frozenset().union(*(_methods(name) for name in case.entry["involved_classes"]))


@functools.cache
def _methods(class_name: str) -> frozenset[str]:
    backend = getattr(importlib.import_module(CLASS_FILE_PATH_MAPPING[class_name]), class_name)
    return frozenset(name for name, _ in inspect.getmembers(backend, inspect.isfunction) if not name.startswith("_"))
