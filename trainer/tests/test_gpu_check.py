"""infra/gpu_check/ on the processor: its model, its comparison of sampler and trainer, and what it says of failures."""

import argparse
import copy
import sys
from pathlib import Path

import pytest
import torch
from job_folders import job_settings

from genenv_trainer import adapters
from genenv_trainer.models import load_model
from genenv_trainer.records import check_record
from genenv_trainer.serving.sampler import SamplingParams, sample

ROOT = Path(__file__).parents[2]
sys.path += [str(ROOT / "infra"), str(ROOT / "bench")]
from gpu_check.job_bytes import others
from gpu_check.problems import problems
from gpu_check.random_model import SMOLLM2, make_model
from gpu_check.sampling import DROPOUT, SAMPLES, SPREAD, VERSION, rollouts, sampler_against_trainer
from llm_sampling import save_adapter

SHAPE = SMOLLM2 | {
    "hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2,
}


@pytest.fixture(scope="module")
def store(tmp_path_factory) -> Path:
    """A model that the script makes, and the adapter that it trains."""
    folder = tmp_path_factory.mktemp("store")
    make_model(folder / "model", SHAPE, 5000)
    save_adapter(folder / "model", folder / "adapter", SPREAD, DROPOUT)
    return folder


@pytest.fixture(scope="module")
def answers(store) -> list[dict]:
    """What a server that has the adapter would answer."""
    policy = adapters.attach_adapter(load_model(store / "model", torch.float32), store / "adapter", None).eval()
    prompts = [list(range(3, 3 + length)) for length in (9, 12)]
    (rows,) = sample(policy, [2], [SamplingParams(prompts, SAMPLES, seed=5, temperature=1, max_tokens=6)])
    return [
        {
            "prompt_token_ids": prompts[index // SAMPLES], "token_ids": row.token_ids,
            "logprobs": {"token_logprobs": row.logprobs},
        }
        for index, row in enumerate(rows)
    ]


def compare(store: Path, answers: list[dict], precision: str = "float32") -> dict:
    options = argparse.Namespace(model=store / "model", precision=precision, device="cpu")
    return sampler_against_trainer(options, store, answers)


def test_sampler_and_trainer_agree_and_the_adapter_shows(store, answers):
    gap = compare(store, answers)
    assert gap["packed"] and gap["tokens"] == sum(len(answer["token_ids"]) for answer in answers)
    assert 0 <= gap["mean"] <= gap["max"] < 1e-4 and gap["mean_without_adapter"] > 1e-3
    assert problems({"sampler_against_trainer": gap}) == []


def test_a_server_with_another_adapter_fails_the_check(store, answers):
    policy = load_model(store / "model", torch.float32).eval()
    other = copy.deepcopy(answers)
    prompts = [answer["prompt_token_ids"] for answer in answers[:: SAMPLES]]
    (rows,) = sample(policy, [2], [SamplingParams(prompts, SAMPLES, seed=5, temperature=1, max_tokens=6)])
    for answer, row in zip(other, rows, strict=True):
        answer["token_ids"], answer["logprobs"]["token_logprobs"] = row.token_ids, row.logprobs
    first, second = problems({"sampler_against_trainer": compare(store, other)})
    assert "differ by" in first and "does not tell a wrong adapter" in second


def test_bfloat16_is_compared_in_bfloat16(store, answers):
    gap = compare(store, answers, "bfloat16")
    assert 1e-5 < gap["mean"] < gap["mean_limit"] == 0.05


def test_rollouts_are_records_of_a_grpo_batch(answers):
    lines = rollouts(answers, steps=3)
    settings = job_settings(policy_version=VERSION)
    records = [check_record(line, "record", "grpo", settings) for line in lines]
    assert [line["step"] for line in lines] == [step for step in range(3) for _ in range(SAMPLES)]
    assert [record.group_id for record in records] == ["0"] * 8 + ["1"] * 8 + ["0"] * 8


PASSED = {
    "sampling": {"same_answers_twice": True},
    "sampler_against_trainer": {"mean": 1e-6, "mean_limit": 1e-3, "mean_without_adapter": 0.1},
    "jobs": {
        "steps": 4, "steps_done": 4, "resumed_from_step": 2, "other_files_when_run_again": [],
        "other_files_when_killed_and_resumed": [], "warnings_of_order": [],
    },
    "step": {},
}


@pytest.mark.parametrize(
    "part, changes, words",
    [
        ("sampling", {"same_answers_twice": False}, "other answers to the same request"),
        ("sampler_against_trainer", {"mean": 2e-3}, "above 0.001"),
        ("sampler_against_trainer", {"mean": float("nan")}, "nan nats"),
        ("jobs", {"steps_done": 3}, "did 3 of 4 steps"),
        ("jobs", {"resumed_from_step": None}, "began again"),
        ("jobs", {"other_files_when_run_again": ["result.json"]}, "run again left other bytes in result.json"),
        ("jobs", {"other_files_when_killed_and_resumed": ["a", "b"]}, "killed and resumed left other bytes in a, b"),
        ("step", {"failed": "loss: 1 is not TRL's 2"}, "step: loss: 1 is not TRL's 2"),
    ],
)
def test_every_failed_check_is_a_sentence(part, changes, words):
    assert problems(PASSED) == []
    found = problems(PASSED | {part: PASSED[part] | changes})
    assert found and words in found[0]


def test_files_of_other_bytes_or_of_one_job_alone_are_named():
    assert others({"a": "1", "b": "2", "c": "3"}, {"a": "1", "b": "4", "d": "5"}) == ["b", "c", "d"]
