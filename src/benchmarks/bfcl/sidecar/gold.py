"""Answers of a policy that knows the truth, in the format of the setting, so that they take the way of every other answer."""

import ast
import json

from cases import Case
from official import NATIVE

NO_CALL = "None of the functions can be used."

Calls = list[tuple[str, dict]]


def gold_turns(case: Case, category: str, setting: str) -> list[list[dict]]:
    """Answers by turn and step, as judges take them."""
    functions = {function["name"]: function for function in case.entry["function"]}
    if "multi_turn" in category:
        held = [function for functions_of_turn in case.entry.get("missed_function", {}).values() for function in functions_of_turn]
        functions |= {function["name"]: function for function in held}
        turns = []
        for calls in case.truth:
            turns.append([*(_answer([_bound(call, functions)], setting) for call in calls), {"text": "Done.", "toolCalls": []}])
        return turns
    if "irrelevance" in category:
        return [[{"text": NO_CALL, "toolCalls": []}]]
    if "relevance" in category:
        return [[_answer([(next(iter(functions)), {})], setting)]]
    calls = [(name, _first_accepted(accepted, functions[name]["parameters"])) for truth in case.truth for name, accepted in truth.items()]
    return [[_java_answer(calls, functions, setting) if "java" in category else _answer(calls, setting)]]


def _java_answer(calls: Calls, functions: dict[str, dict], setting: str) -> dict:
    """Values in the source of the language: between quotes in a text where they are texts, always texts in JSON."""
    name, arguments = calls[0]
    schema = functions[name]["parameters"]["properties"]
    sources = {key: _source(value, schema[key]) for key, value in arguments.items()}
    if setting == NATIVE:
        return _answer([(name, sources)], setting)
    return {"text": f"[{name}({', '.join(f'{key}={_quoted(source, schema[key])}' for key, source in sources.items())})]", "toolCalls": []}


def _answer(calls: Calls, setting: str) -> dict:
    if setting == NATIVE:
        # Names of native tools have "_" for ".", as convert_to_tool gives them.
        return {"text": "", "toolCalls": [{"name": name.replace(".", "_"), "arguments": json.dumps(arguments)} for name, arguments in calls]}
    text = ", ".join(f"{name}({', '.join(f'{key}={value!r}' for key, value in arguments.items())})" for name, arguments in calls)
    return {"text": f"[{text}]", "toolCalls": []}


def _bound(call: str, functions: dict[str, dict]) -> tuple[str, dict]:
    """A call of the truth with its positional arguments under their names: decoding drops them otherwise."""
    node = ast.parse(call, mode="eval").body
    parameters = list(functions[node.func.id]["parameters"]["properties"])
    arguments = {key: ast.literal_eval(value) for key, value in zip(parameters, node.args, strict=False)}
    return node.func.id, arguments | {keyword.arg: ast.literal_eval(keyword.value) for keyword in node.keywords}


def _first_accepted(accepted: dict[str, list], schema: dict) -> dict:
    """The first accepted value of each parameter that the function has; "" among them says that it may be left out."""
    chosen = {}
    for key, values in accepted.items():
        given = key in schema["required"] or (values and values[0] != "" and key in schema["properties"])
        if given and values:
            chosen[key] = _plain(next((value for value in values if value != ""), ""))
    return chosen


def _plain(value: object) -> object:
    """The entries of an accepted dict are again lists of accepted values, one level deep."""
    if isinstance(value, dict):
        return {key: values[0] for key, values in value.items() if values and values[0] != ""}
    return [_plain(item) for item in value] if isinstance(value, list) else value


def _source(value: object, schema: dict) -> str:
    """A value in the source of Java or JavaScript. Not every truth can be written so: this is no proof of a ceiling."""
    kind = schema.get("type", "String")
    if isinstance(value, str):
        return value
    if isinstance(value, list) and kind == "ArrayList":
        return f"new ArrayList<>(Arrays.asList({', '.join(json.dumps(item) for item in value)}))"
    if isinstance(value, list) and kind == "Array":
        return f"new Object[]{{{', '.join(json.dumps(item) for item in value)}}}"
    if isinstance(value, dict) and kind == "HashMap":
        puts = " ".join(f"put({json.dumps(key)}, {json.dumps(item)});" for key, item in value.items())
        return f"new HashMap<String, Object>() {{{{ {puts} }}}}"
    return f"{value}L" if kind == "long" else json.dumps(value)


def _quoted(source: str, schema: dict) -> str:
    return json.dumps(source) if schema.get("type") in ("String", "char", "any") else source
