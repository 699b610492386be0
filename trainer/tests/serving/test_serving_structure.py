"""Answers that a request holds to a grammar or a JSON Schema."""

import json
import re
from dataclasses import replace

import pytest
import torch
from tiny_models import ADAPTED, AGENT, CHARACTERS
from xgrammar import GrammarMatcher, allocate_token_bitmask

from genenv_trainer.serving.completions import CompletionRequest
from genenv_trainer.serving.drawing import sampling_params
from genenv_trainer.serving.errors import ApiError
from genenv_trainer.serving.limits import MAX_STRUCTURE_LENGTH
from genenv_trainer.serving.parts import halves
from genenv_trainer.serving.registry import Registry
from genenv_trainer.serving.sampler import sample
from genenv_trainer.serving.structure import Structure, StructureCompiler
from genenv_trainer.serving.token_choice import choose
from genenv_trainer.tokenizer import character_tokenizer

SUMS = 'root ::= number ("+" | "*") number\nnumber ::= [1-9] [0-9]?'
HELD = {"structured_outputs": {"grammar": SUMS}}


@pytest.mark.parametrize("model", [AGENT, ADAPTED])
@pytest.mark.parametrize("temperature", [0, 0.7, 1])
def test_every_answer_has_the_form_of_the_grammar(complete, model, temperature):
    held = complete(model=model, prompt=["a", "bb"], n=8, max_tokens=16, temperature=temperature, **HELD)
    assert [one["finish_reason"] for one in held] == ["stop"] * 16
    assert all(re.fullmatch(r"[1-9][0-9]?[+*][1-9][0-9]?", one["text"]) for one in held), held
    free = complete(model=model, prompt=["a", "bb"], n=8, max_tokens=16, temperature=temperature)
    assert not any(re.fullmatch(r"[1-9][0-9]?[+*][1-9][0-9]?", one["text"]) for one in free)
    if temperature == 0:
        assert [len({one["text"] for one in held[start : start + 8]}) for start in (0, 8)] == [1, 1]


def test_an_answer_that_is_cut_off_has_the_beginning_of_the_form(complete):
    for one in complete(prompt=["a"], n=8, max_tokens=2, **HELD):
        assert re.fullmatch(r"[1-9][0-9+*]", one["text"])
        assert one["finish_reason"] == "length"


@pytest.mark.parametrize("vocabulary", [60, 5000])
@pytest.mark.parametrize("temperature", [0.0, 0.7])
def test_tokens_are_drawn_by_their_probabilities_among_those_allowed(vocabulary, temperature):
    generator = torch.Generator().manual_seed(0)
    rows = 200
    logits_B_V = torch.randn(rows, vocabulary, generator=generator) * 3
    allowed = sorted(torch.randperm(vocabulary, generator=generator)[:7].tolist())
    allowed_B_W = torch.zeros(allocate_token_bitmask(rows, vocabulary).shape, dtype=torch.int32)
    for token in allowed:
        allowed_B_W[:, token // 32] |= torch.tensor(1 << token % 32).to(torch.int32)
    settings = torch.full((rows,), temperature), torch.rand(rows, generator=generator, dtype=torch.double)
    token_B, logprobs_B_V = choose(logits_B_V, *settings, allowed_B_W)
    among_B, _ = choose(logits_B_V[:, allowed], *settings)
    assert token_B.tolist() == [allowed[index] for index in among_B.tolist()]
    assert len(set(token_B.tolist())) > 2
    assert torch.equal(logprobs_B_V, choose(logits_B_V, *settings)[1])


def test_log_probabilities_are_those_of_the_model_and_not_of_the_grammar(complete):
    [held] = complete(prompt=["a"], max_tokens=1, logprobs=5, structured_outputs={"grammar": 'root ::= "7"'})
    [logprob] = held["logprobs"]["token_logprobs"]
    assert held["text"] == "7"
    assert logprob < -0.01
    best = held["logprobs"]["top_logprobs"][0]
    assert max(value for token, value in best.items() if token != "7") > logprob


def test_a_chat_is_held_to_a_schema(client):
    schema = {
        "type": "object",
        "properties": {"a": {"type": "integer", "minimum": 1, "maximum": 9}, "b": {"enum": ["x", "yz"]}},
        "required": ["a", "b"],
        "additionalProperties": False,
    }
    # The character model has no braces and no quotes: a schema of a number alone is what it can write.
    number = {"type": "integer", "minimum": 1, "maximum": 9}
    body = {"model": AGENT, "messages": [{"role": "user", "content": "hi"}], "max_tokens": 8, "seed": 1}
    form = {"type": "json_schema", "json_schema": {"name": "task", "strict": True, "schema": number}}
    answer = client.post("/v1/chat/completions", json=body | {"response_format": form})
    assert answer.status_code == 200, answer.text
    assert answer.json()["choices"][0]["message"]["content"] in list("123456789")
    form["json_schema"]["schema"] = schema
    impossible = client.post("/v1/chat/completions", json=body | {"response_format": form})
    # A 500 would be tried again without end.
    assert impossible.status_code == 400
    assert impossible.json()["error"]["param"] == "response_format.json_schema"
    assert "its vocabulary lacks what the form asks for" in impossible.json()["error"]["message"]


@pytest.mark.parametrize(
    ("param", "fields"),
    [
        ("structured_outputs.grammar", {"structured_outputs": {"grammar": "root ::= ("}}),
        ("structured_outputs.grammar", {"structured_outputs": {"grammar": 'other ::= "a"'}}),
        ("structured_outputs", {"structured_outputs": {"grammar": ""}}),
        ("structured_outputs", {"structured_outputs": {"grammar": "x" * (MAX_STRUCTURE_LENGTH + 1)}}),
        ("structured_outputs", {"structured_outputs": {"regex": "a+"}}),
        ("response_format.json_schema", {"response_format": {"type": "json_schema"}}),
        (
            "response_format.json_schema",
            {"response_format": {"type": "json_schema", "json_schema": {"schema": {"type": "nothing"}}}},
        ),
        (
            "response_format.json_schema",
            HELD | {"response_format": {"type": "json_schema", "json_schema": {"schema": {}}}},
        ),
        (
            "response_format.json_schema",
            {
                "response_format": {
                    "type": "json_schema",
                    "json_schema": {"schema": {"enum": ["x" * MAX_STRUCTURE_LENGTH]}},
                }
            },
        ),
    ],
)
def test_what_is_no_structure_names_its_field(client, param, fields):
    answer = client.post("/v1/completions", json={"model": AGENT, "prompt": ["a"]} | fields)
    error = answer.json()["error"]
    assert answer.status_code == 400, answer.text
    assert error["param"].startswith(param), error


def test_parts_of_a_request_are_held_as_the_request_is(store):
    loaded = Registry(store, capacity=1).get(AGENT)
    request = CompletionRequest(model=AGENT, prompt=["a", "bb"], n=3, **HELD)
    params = sampling_params(request, 5, loaded, [[5], [6, 7]], 8, 0)
    [whole] = sample(loaded.model, loaded.end_ids, [params])
    drawn = [sample(loaded.model, loaded.end_ids, [half])[0] for half in halves(params)]
    assert [row.token_ids for rows in drawn for row in rows] == [row.token_ids for row in whole]
    free = replace(params, structure=None)
    [held, other] = sample(loaded.model, loaded.end_ids, [params, free])
    assert [row.token_ids for row in held] == [row.token_ids for row in whole]
    assert [row.token_ids for row in other] != [row.token_ids for row in whole]


def tokens_with_braces():
    return character_tokenizer([*CHARACTERS, *'{}",'])


def test_json_has_a_space_after_commas_and_colons_and_no_other_white_space():
    tokenizer = tokens_with_braces()
    schema = {
        "type": "object",
        "properties": {"a": {"type": "integer"}, "b": {"enum": ["x", "yz"]}},
        "required": ["a", "b"],
        "additionalProperties": False,
    }
    structure = Structure("response_format.json_schema", "schema", json.dumps(schema))
    compiled = StructureCompiler().compile(structure, tokenizer, len(tokenizer), [tokenizer.eos_token_id])
    accepted = [
        GrammarMatcher(compiled.grammar).accept_string(text)
        for text in (
            '{"a": 1, "b": "yz"}',
            '{"a":1,"b":"yz"}',
            '{ "a": 1, "b": "yz" }',
            '{"a": 1,\n"b": "yz"}',
        )
    ]
    assert accepted == [True, False, False, False]


def test_versions_of_a_policy_share_what_is_compiled(store):
    registry = Registry(store, capacity=2)
    structure = Structure("structured_outputs.grammar", "grammar", SUMS)
    full, adapted = (registry.get(name).compile(structure) for name in (AGENT, ADAPTED))
    assert len(registry.structures._compilers) == 1
    braces = tokens_with_braces()
    registry.structures.compile(structure, braces, len(braces), [braces.eos_token_id])
    assert len(registry.structures._compilers) == 2
    assert full.field == adapted.field == "structured_outputs.grammar"


def test_a_tokenizer_that_the_library_cannot_read_is_the_requests_error():
    with pytest.raises(ApiError, match="not a fast one") as refusal:
        StructureCompiler().compile(
            Structure("structured_outputs.grammar", "grammar", SUMS), object(), 9, [0]
        )
    assert refusal.value.status == 400
