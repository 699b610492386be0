"""Calls of an answer, in whichever of the known formats it has them.

An answer is {"text": str, "toolCalls": [{"name": str, "arguments": JSON text}]}.
"""

import json
import re
from dataclasses import dataclass

from decoder import Calls, NotDecodable, bracketed, decode_calls
from official import NATIVE, ReturnFormat, parse_java_function_call, parse_javascript_function_call

_TOOL_CALL = re.compile(r"<tool_call>(.*?)(?:</tool_call>|\Z)", re.DOTALL)
_FENCE = re.compile(r"\A```([A-Za-z_]*)\n(.*?)\n?```\Z", re.DOTALL)


@dataclass(frozen=True)
class Decoded:
    calls: Calls
    # Whether they were JSON: the official code renders such calls in another way.
    from_json: bool
    # Whether the official decoder of this setting would have refused them.
    converted: bool


def decode_answer(answer: dict, setting: str, language: ReturnFormat = ReturnFormat.PYTHON) -> Decoded:
    """Raises NotDecodable."""
    if answer["toolCalls"]:
        return Decoded([_json_call(call["name"], call["arguments"]) for call in answer["toolCalls"]], from_json=True, converted=False)
    # As the official handler of reasoning models has it.
    text = answer["text"].split("</think>")[-1].lstrip("\n")
    if "<tool_call>" in text:
        return Decoded(_tool_calls(text), from_json=True, converted=True)
    if setting == NATIVE:
        # Tools were given natively: text without a call is an answer to the user.
        raise NotDecodable("no tool call")
    fence = _FENCE.match(text.strip())
    plain = fence.group(2) if fence else text
    # The official decoder strips back-ticks, but not the name of a language behind them.
    converted = fence is not None and fence.group(1) != ""
    if language == ReturnFormat.PYTHON:
        return Decoded(decode_calls(plain), from_json=False, converted=converted)
    parse = parse_java_function_call if language == ReturnFormat.JAVA else parse_javascript_function_call
    try:
        return Decoded(parse(bracketed(plain)[1:-1]), from_json=False, converted=converted)
    except Exception as error:
        raise NotDecodable(f"{type(error).__name__}: {error}") from error


def _tool_calls(text: str) -> Calls:
    """As the official handler of Qwen: blocks that are no JSON are passed over."""
    calls = []
    for block in _TOOL_CALL.findall(text):
        try:
            call = json.loads(block)
        except (ValueError, RecursionError):
            continue
        if not isinstance(call, dict) or not isinstance(call.get("name"), str) or "arguments" not in call:
            raise NotDecodable("a <tool_call> without name and arguments")
        calls.append(_json_call(call["name"], call["arguments"]))
    return calls


def _json_call(name: str, arguments: object) -> dict[str, dict]:
    try:
        return {name: json.loads(arguments) if isinstance(arguments, str) else arguments}
    except (ValueError, RecursionError) as error:
        raise NotDecodable(f"arguments are no JSON: {error}") from error
