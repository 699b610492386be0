"""POST /completion_logprobs against torch, and against what the same server samples."""

import math
import threading
from dataclasses import replace

import pytest
import torch
from peft import PeftModelForCausalLM
from tiny_models import ADAPTED, AGENT, CHARACTERS
from transformers import LlamaForCausalLM

from genenv_trainer.serving import answer_logprobs, like_lengths
from genenv_trainer.serving.answer_logprobs import LogprobsRequest, answer_of, passes_of
from genenv_trainer.serving.errors import ApiError
from genenv_trainer.serving.registry import Registry
from genenv_trainer.serving.sampler import Unwanted

PROMPTS = ["what is 3+4?", "a", "add 17 and 25"]
ANSWERS = ["7", "", "forty-two: 42"]
EOS = 2


@pytest.fixture
def logprobs(client):
    def post(model=AGENT, prompts=PROMPTS, answers=ANSWERS):
        body = {"model": model, "prompt": prompts, "completion": answers}
        answer = client.post("/completion_logprobs", json=body)
        assert answer.status_code == 200, answer.text
        return answer.json()["logprobs"]

    return post


def by_torch(model, prompt: str, answer: str) -> float:
    """One row alone, a token at a time."""
    ids = [CHARACTERS.index(one) + 3 for one in prompt]
    total = 0.0
    for token in [*(CHARACTERS.index(one) + 3 for one in answer), EOS]:
        with torch.inference_mode():
            logits_V = model(input_ids=torch.tensor([ids])).logits[0, -1].double()
        total += float(torch.log_softmax(logits_V, dim=-1)[token])
        ids.append(token)
    return total


def test_they_are_those_of_torch_for_prompts_and_answers_of_all_lengths(store, logprobs):
    model = LlamaForCausalLM.from_pretrained(store / "objects" / "full").eval()
    expected = [by_torch(model, *pair) for pair in zip(PROMPTS, ANSWERS, strict=True)]
    assert logprobs() == pytest.approx(expected, abs=1e-4)
    assert logprobs(prompts=PROMPTS[::-1], answers=ANSWERS[::-1]) == pytest.approx(expected[::-1], abs=1e-4)
    assert logprobs() == logprobs()


def test_an_adapter_has_its_own(store, logprobs):
    base = LlamaForCausalLM.from_pretrained(store / "objects" / "full")
    model = PeftModelForCausalLM.from_pretrained(base, store / "objects" / "adapter").eval()
    expected = [by_torch(model, *pair) for pair in zip(PROMPTS, ANSWERS, strict=True)]
    assert logprobs(model=ADAPTED) == pytest.approx(expected, abs=1e-4)
    assert logprobs(model=ADAPTED) != pytest.approx(logprobs(), abs=1e-2)


def test_ten_thousand_samples_agree(complete, logprobs):
    """The most frequent answer of a first draw, judged by fresh samples. Seeded: it never fails by chance."""
    fields = {"prompt": "a", "n": 1024, "max_tokens": 8}
    first = [choice["text"] for choice in complete(seed=1, **fields) if choice["finish_reason"] == "stop"]
    answer = max(set(first), key=first.count)
    draws = [choice for seed in range(2, 12) for choice in complete(seed=seed, **fields)]
    wanted = [*(CHARACTERS.index(one) + 3 for one in answer), EOS]
    share = sum(choice["token_ids"] == wanted for choice in draws) / len(draws)
    [logprob] = logprobs(prompts=["a"], answers=[answer])
    probability = math.exp(logprob)
    assert len(draws) == 10_240
    assert 0.001 < probability < 1
    assert abs(share - probability) < 3 * math.sqrt(probability * (1 - probability) / len(draws))


def test_all_answers_of_a_length_and_longer_ones_have_probability_one(logprobs):
    """P(end) + Σ_c P(c, end) + P(two characters or more, or special tokens) = 1: none may exceed it."""
    short = logprobs(prompts=["a"] * (1 + len(CHARACTERS)), answers=["", *CHARACTERS])
    assert 0 < sum(map(math.exp, short)) < 1


@pytest.mark.parametrize(
    ("fields", "status", "param"),
    [
        ({"completion": ["7"]}, 400, "completion"),
        ({"prompt": [], "completion": []}, 400, "prompt"),
        ({"prompt": ["", "a", "b"]}, 400, "prompt"),
        ({"completion": ["7", "Ä", "x"]}, 400, "completion"),
        ({"completion": ["7" * 200, "x", "x"]}, 400, "prompt"),
        ({"model": "agent@0009-000000"}, 404, "model"),
        ({"temperature": 1}, 400, "temperature"),
    ],
)
def test_what_it_refuses(client, fields, status, param):
    body = {"model": AGENT, "prompt": PROMPTS, "completion": ANSWERS} | fields
    answer = client.post("/completion_logprobs", json=body)
    assert (answer.status_code, answer.json()["error"]["param"]) == (status, param), answer.text


def many_pairs() -> LogprobsRequest:
    return LogprobsRequest(model=AGENT, prompt=PROMPTS * 4, completion=["7"] * 12)


def test_nobody_computes_for_a_client_that_has_gone(store, monkeypatch):
    loaded = Registry(store, capacity=1).get(AGENT)
    footprint = loaded.footprint
    row = 20 * (footprint.computed + footprint.chosen)
    loaded.footprint = replace(footprint, limit=row)
    unwanted, passes = threading.Event(), []

    def one_pass(model, pairs):
        passes.append(len(pairs))
        unwanted.set()
        return [0.0] * len(pairs)

    monkeypatch.setattr(answer_logprobs, "completion_logprobs", one_pass)
    with pytest.raises(Unwanted):
        answer_of(many_pairs(), loaded, unwanted)
    assert passes == [4]


def test_a_pass_has_rows_of_like_length_within_the_memory(store, monkeypatch):
    monkeypatch.setattr(like_lengths, "FREE_PADDING", 2)
    loaded = Registry(store, capacity=1).get(AGENT)
    row = 40 * (loaded.footprint.computed + loaded.footprint.chosen)
    loaded.footprint = replace(loaded.footprint, limit=3 * row)
    lengths = [40, 10, 12, 13, 30, 40, 37, 40, 38]
    pairs = [([3] * (length - 2), [3] * 2) for length in lengths]
    # 10 and 12 have two tokens of padding, 13 would add two more; 30 and 37 are alike; 40 is not like 30, and three
    # rows of 40 tokens fill the memory.
    assert passes_of(pairs, loaded) == [[1, 2], [3], [4, 6], [8, 0, 5], [7]]


def test_a_pair_that_takes_more_memory_than_there_is_is_refused(store):
    loaded = Registry(store, capacity=1).get(AGENT)
    loaded.footprint = replace(loaded.footprint, limit=2 * loaded.footprint.chosen)
    with pytest.raises(ApiError, match="a completion of 1 tokens after a prompt of 12 takes"):
        answer_of(many_pairs(), loaded, threading.Event())
