"""Cases of a category: what the model is asked, as the official handlers ask it, and what it is judged by."""

import copy
import hashlib
from dataclasses import dataclass
from pathlib import Path

from official import (
    GORILLA_TO_OPENAPI,
    MULTI_TURN_FUNC_DOC_FILE_MAPPING,
    NATIVE,
    ModelStyle,
    convert_to_tool,
    default_prompts,
    eval_config,
    is_multi_turn,
    is_relevance_or_irrelevance,
    load_dataset_entry,
    load_ground_truth_entry,
    system_prompt_pre_processing_chat_model,
)


@dataclass(frozen=True)
class Case:
    # As the official evaluation has it: without the hints of the prompts.
    entry: dict
    # `[{name: {parameter: [accepted values]}}]`, or call strings by turn; None for relevance and irrelevance.
    truth: list | None


def load_cases(category: str) -> dict[str, Case]:
    """In the official order, by id."""
    entries = load_dataset_entry(category, include_prereq=False, include_language_specific_hint=False)
    if is_relevance_or_irrelevance(category):
        return {entry["id"]: Case(entry, None) for entry in entries}
    # Some ids of answers are written differently; the order is the same.
    truths = load_ground_truth_entry(category)
    return {entry["id"]: Case(entry, truth["ground_truth"]) for entry, truth in zip(entries, truths, strict=True)}


def questions(category: str, setting: str) -> dict[str, list[dict]]:
    """By id, the turns: {"messages", "tools"}. Tools are None in prompting, and in turns that leave them as they were."""
    entries = load_dataset_entry(category, include_prereq=False, include_language_specific_hint=True)
    return {entry["id"]: _turns(entry, setting) for entry in entries}


def _turns(entry: dict, setting: str) -> list[dict]:
    turns = copy.deepcopy(entry["question"])
    functions = list(entry["function"])
    held_out = entry.get("missed_function", {})
    if setting == NATIVE:
        tools = [_tools(functions)]
        for index in range(1, len(turns)):
            functions += held_out.get(str(index), [])
            tools.append(_tools(functions) if str(index) in held_out else None)
        said = default_prompts.DEFAULT_USER_PROMPT_FOR_ADDITIONAL_FUNCTION_FC
    else:
        tools = [None] * len(turns)
        turns[0] = system_prompt_pre_processing_chat_model(turns[0], functions, entry["id"])
        said = default_prompts.DEFAULT_USER_PROMPT_FOR_ADDITIONAL_FUNCTION_PROMPTING
    for index, held in held_out.items():
        turns[int(index)] = [{"role": "user", "content": said.format(functions=held)}]
    return [{"messages": messages, "tools": given} for messages, given in zip(turns, tools, strict=True)]


def _tools(functions: list[dict]) -> list[dict]:
    tools = convert_to_tool(functions, GORILLA_TO_OPENAPI, ModelStyle.OPENAI_COMPLETIONS)
    return [{key: tool["function"][key] for key in ("name", "description", "parameters")} for tool in tools]


def data_hash(category: str) -> str:
    """sha256 over the name and bytes of every data file that the category's questions and verdicts follow from."""
    name = f"{eval_config.VERSION_PREFIX}_{category}.json"
    files = [eval_config.PROMPT_PATH / name, eval_config.POSSIBLE_ANSWER_PATH / name]
    if is_multi_turn(category):
        files += sorted({eval_config.MULTI_TURN_FUNC_DOC_PATH / file for file in MULTI_TURN_FUNC_DOC_FILE_MAPPING.values()})
    digest = hashlib.sha256()
    for file in filter(Path.exists, files):
        digest.update(f"{file.relative_to(eval_config.PROMPT_PATH)}\0".encode())
        digest.update(hashlib.sha256(file.read_bytes()).digest())
    return digest.hexdigest()
