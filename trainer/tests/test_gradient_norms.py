"""Squared gradient norms of single rollouts: against finite differences, and without a trace in the
policy."""

import random
from pathlib import Path

import pytest
import torch
from job_folders import WITH_DROPOUT, copy_inputs, digests, read, sequence, texts, work_folder
from transformers import AutoModelForCausalLM

GROUPS, ROWS = 3, 2


def rollouts() -> list[dict]:
    """Step s holds the rollouts of one group."""
    rng = random.Random(5)
    records = [
        sequence(rng, step, group_id=f"task-{step}", advantage=advantage)
        for step in range(GROUPS)
        for advantage in (0.75, -0.25)
    ]
    # The farthest from the policy's own value comes first, so that a resumed job has to remember it.
    records[0]["logprobs"] = [4 * logprob for logprob in records[0]["logprobs"]]
    return records


@pytest.fixture(scope="module")
def measured(launcher, model, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("measured") / "work"
    return launcher.run(work_folder(folder, "gradient_norms", rollouts(), model))


def log_probability(policy: torch.nn.Module, record: dict) -> torch.Tensor:
    """log pi(y|x) at the record's temperature, straight from the definition."""
    distribution = torch.log_softmax(
        policy(torch.tensor([record["token_ids"]])).logits[0] / record["temperature"], -1
    )
    return sum(distribution[t - 1, token] for t, token in enumerate(record["token_ids"]) if record["mask"][t])


def score_by_differences(policy: torch.nn.Module, record: dict, size: float = 1e-4) -> float:
    """||grad log pi||^2: the square of how fast log pi rises along its own gradient, by a central
    difference in double precision. Along no other direction does it rise as fast."""
    weights = list({id(p): p for p in policy.parameters()}.values())
    gradient = torch.autograd.grad(log_probability(policy, record), weights)
    length = torch.sqrt(sum(part.pow(2).sum() for part in gradient))
    ends = []
    with torch.no_grad():
        for move in (size, -2 * size, size):  # there, across, and back
            for weight, part in zip(weights, gradient):
                weight += move * part / length
            ends.append(log_probability(policy, record).item())
    return ((ends[0] - ends[1]) / (2 * size)) ** 2


def test_is_the_squared_norm_of_the_gradient(measured, model):
    policy = AutoModelForCausalLM.from_pretrained(model["path"], dtype=torch.float64).eval()
    own = rollouts()[:ROWS]
    scores = [score_by_differences(policy, record) for record in own]
    group = read(measured, "result.json")["groups"][0]
    assert (group["group_id"], group["rollouts"]) == ("task-0", ROWS)
    assert group["squared_score"] == pytest.approx(sum(scores) / ROWS, rel=1e-3)
    assert group["squared_norm"] == pytest.approx(
        (0.75**2 * scores[0] + 0.25**2 * scores[1]) / ROWS, rel=1e-3
    )
    assert group["tokens"] == sum(sum(record["mask"]) for record in own) / ROWS


def test_each_group_has_its_means_and_no_weights_are_written(measured, policy):
    result = read(measured, "result.json")
    assert [group["group_id"] for group in result["groups"]] == ["task-0", "task-1", "task-2"]
    assert (result["steps_done"], result["output"]) == (GROUPS, None)
    assert not (measured / "output").exists()
    assert (
        result["metrics"]["sampling/sampling_logp_difference/max"] > 0
    ), "the tests' log-probabilities are made up"


def test_the_policy_is_what_it_was(launcher, policy, model, tmp_path):
    before = digests(policy, "output")
    one = launcher.run(work_folder(tmp_path / "one", "gradient_norms", rollouts(), model))
    assert digests(policy, "output") == before
    # Measured last, a group has what it has measured alone: nothing moved in between.
    alone = [record | {"step": 0} for record in rollouts() if record["step"] == GROUPS - 1]
    other = launcher.run(work_folder(tmp_path / "alone", "gradient_norms", alone, model))
    assert read(other, "result.json")["groups"][0] == read(one, "result.json")["groups"][-1]


@pytest.mark.parametrize("step", range(1, GROUPS))
def test_killed_between_groups_it_goes_on_to_the_same_bytes(launcher, measured, tmp_path, step):
    folder = copy_inputs(measured, tmp_path / "work")
    launcher.run(folder, expect=137, GENENV_TRAINER_FAULT=f"exit:{step}")
    launcher.run(folder)
    assert read(folder, "exit.json")["resumed_from"] == step
    assert digests(folder, "result.json") == digests(measured, "result.json")


def test_measures_as_it_was_sampled_without_dropout(launcher, tmp_path):
    policy = launcher.run(work_folder(tmp_path / "policy", "supervised", texts(1), WITH_DROPOUT))
    start = {"path": str(policy / "output/checkpoint")}
    twice = [
        launcher.run(work_folder(tmp_path / str(seed), "gradient_norms", rollouts(), start, seed=seed))
        for seed in (1, 2)
    ]
    one, other = (read(folder, "result.json")["groups"] for folder in twice)
    assert one == other


@pytest.mark.parametrize("change, words", [
    ({"group_id": "another"}, ["one group", "another", "task-0"]),
    ({"policy_version": "agent@0002-bbbbbb"}, ["agent@0002-bbbbbb", "max_policy_lag is 0"]),
    ({"advantage": None}, ["'advantage'", "None"]),
])
def test_rollouts_that_do_not_belong_together_are_refused(launcher, model, tmp_path, change, words):
    records = rollouts()
    records[1] |= change
    folder = launcher.run(work_folder(tmp_path / "work", "gradient_norms", records, model), expect=1)
    report = read(folder, "exit.json")
    assert report["reason"] == "invalid_artifact"
    assert all(word in report["message"] for word in words), report["message"]
