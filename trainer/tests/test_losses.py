"""Regression, KL and gradient accumulation against values computed by hand."""

import random
from pathlib import Path

import pytest
import torch
from job_folders import job_settings, sequence
from transformers import AutoModelForCausalLM

from genenv_trainer.batch import check_normaliser
from genenv_trainer.errors import InvalidArtifact, NotFinite
from genenv_trainer.forward import Reference
from genenv_trainer.job_config import Settings, StepTotals
from genenv_trainer.losses import exact_kl, k3_kl
from genenv_trainer.models import load_reference
from genenv_trainer.records import check_record
from genenv_trainer.step import Objective, StepBatch

CPU = torch.device("cpu")


def records(kind: str, settings: Settings, count: int = 8):
    rng = random.Random(3)
    return [check_record(sequence(rng, 0), f"record {i}", kind, settings) for i in range(count)]


def gradients(kind, settings, model, reference, rows, token_budget, normaliser=None):
    """(loss, flat gradient) of one step of a fresh copy of the policy."""
    policy = AutoModelForCausalLM.from_pretrained(model["path"], dtype=torch.float32).train()
    frozen = load_reference(Path(reference["path"]), torch.float32, CPU)
    terms = Reference(frozen, False, settings.kl_estimator, None) if settings.kl_coefficient else None
    objective = Objective(kind, settings, policy, terms, None, lambda: None)
    batch = StepBatch.of(rows, token_budget, CPU, normaliser=normaliser)
    loss, _ = objective.accumulate_gradients(batch, pull_back=False)
    return loss, torch.cat([p.grad.flatten() for p in policy.parameters()]), len(batch.micro_batches)


def test_rwr_is_weighted_cross_entropy(model, reference):
    settings = job_settings()
    rows = records("rwr", settings)
    loss, gradient, _ = gradients("rwr", settings, model, reference, rows, 1000)

    policy = AutoModelForCausalLM.from_pretrained(model["path"], dtype=torch.float32)
    total, weights = 0.0, 0.0
    for row in rows:
        logits = policy(torch.tensor([row.token_ids])).logits[0] / row.temperature
        for t in range(1, len(row.token_ids)):
            if row.mask[t]:
                total = total + row.weight * torch.nn.functional.cross_entropy(
                    logits[t - 1], torch.tensor(row.token_ids[t])
                )
                weights += row.weight
    (total / weights).backward()
    assert loss == pytest.approx((total / weights).item(), abs=1e-6)
    torch.testing.assert_close(
        gradient, torch.cat([p.grad.flatten() for p in policy.parameters()]), atol=1e-6, rtol=0
    )


@pytest.mark.parametrize(
    "kind, changes",
    [
        ("grpo", {"loss_type": "grpo"}),
        ("grpo", {"loss_type": "dr_grpo"}),
        ("grpo", {"loss_type": "dapo", "entropy_coefficient": 0.1}),
        ("rwr", {}),
        ("rwr", {"kl_estimator": "exact"}),
    ],
)
def test_micro_batches_change_nothing(model, reference, kind, changes):
    settings = job_settings(max_completion_length=9, kl_coefficient=0.1, **changes)
    rows = records(kind, settings)
    loss, gradient, one = gradients(kind, settings, model, reference, rows, 1000)
    for budget in (40, 1):
        split_loss, split_gradient, many = gradients(kind, settings, model, reference, rows, budget)
        assert one == 1 and many > 1
        assert split_loss == pytest.approx(loss, abs=1e-6)
        torch.testing.assert_close(split_gradient, gradient, atol=1e-6, rtol=0)


def batch_with_silent_groups(settings, count=8):
    """Half of the sequences have advantage 0. Returns all, those that inform, and the totals of all."""
    rows = records("grpo", settings, count)
    for row in rows[::2]:
        row.advantage = 0.0
    totals = StepTotals(sequences=count, active_tokens=sum(sum(row.mask) for row in rows))
    return rows, rows[1::2], totals


@pytest.mark.parametrize("loss_type", ["grpo", "dr_grpo", "dapo"])
def test_groups_without_signal_may_be_left_out_of_the_batch_but_not_of_the_mean(model, reference, loss_type):
    settings = job_settings(max_completion_length=9, loss_type=loss_type)
    rows, informative, totals = batch_with_silent_groups(settings)

    kept, kept_gradient, _ = gradients("grpo", settings, model, reference, rows, 1000)
    loss, gradient, _ = gradients("grpo", settings, model, reference, informative, 1000, totals)
    assert loss == pytest.approx(kept, abs=1e-7)
    torch.testing.assert_close(gradient, kept_gradient, atol=1e-7, rtol=0)

    # Without the totals of the whole batch the same groups take a larger step.
    _, rescaled, _ = gradients("grpo", settings, model, reference, informative, 1000)
    tokens = [sum(sum(row.mask) for row in some) for some in (rows, informative)]
    factor = tokens[0] / tokens[1] if loss_type == "dapo" else len(rows) / len(informative)
    torch.testing.assert_close(rescaled, factor * kept_gradient, atol=1e-6, rtol=0)
    assert rescaled.norm() > 1.5 * gradient.norm()


def test_whole_batch_mean_by_hand(model, reference):
    settings = job_settings(clip_low=0.9, clip_high=9)
    _, informative, totals = batch_with_silent_groups(settings)
    policy = AutoModelForCausalLM.from_pretrained(model["path"], dtype=torch.float32)
    total = 0.0
    for row in informative:
        logprobs = torch.log_softmax(policy(torch.tensor([row.token_ids])).logits[0] / row.temperature, -1)
        for t in range(1, len(row.token_ids)):
            if row.mask[t]:
                ratio = torch.exp(logprobs[t - 1, row.token_ids[t]] - row.logprobs[t])
                assert 0.1 < ratio < 10
                total = total - ratio * row.advantage
    (total / totals.active_tokens).backward()
    by_hand = torch.cat([p.grad.flatten() for p in policy.parameters()])
    _, gradient, _ = gradients("grpo", settings, model, reference, informative, 1000, totals)
    torch.testing.assert_close(gradient, by_hand, atol=1e-6, rtol=0)


def test_kl_and_entropy_stay_means_over_what_is_run(model, reference):
    settings = job_settings(kl_coefficient=0.1, entropy_coefficient=0.1)
    rows, _, totals = batch_with_silent_groups(settings)
    silent = rows[::2]
    loss, gradient, _ = gradients("grpo", settings, model, reference, silent, 1000)
    same_loss, same_gradient, _ = gradients("grpo", settings, model, reference, silent, 1000, totals)
    assert same_loss == loss
    assert torch.equal(same_gradient, gradient)


def test_totals_of_the_whole_step_are_checked(model):
    settings = job_settings()
    rows, _, totals = batch_with_silent_groups(settings)
    check_normaliser([rows], [totals])
    with pytest.raises(InvalidArtifact, match="1 entries, but the batch has 2 steps"):
        check_normaliser([rows, rows], [totals])
    with pytest.raises(InvalidArtifact, match=r"normaliser_totals\[0\].*8 sequences"):
        check_normaliser([rows], [StepTotals(sequences=7, active_tokens=totals.active_tokens)])


def test_loss_that_is_not_finite_stops(model):
    settings = job_settings()
    policy = AutoModelForCausalLM.from_pretrained(model["path"], dtype=torch.float32)
    next(policy.parameters()).data.fill_(float("nan"))
    objective = Objective("rwr", settings, policy, None, None, lambda: None)
    with pytest.raises(NotFinite, match="loss is nan in micro-batch 0"):
        objective.accumulate_gradients(StepBatch.of(records("rwr", settings), 1000, CPU), pull_back=False)


def test_kl_estimates():
    p, q = torch.tensor([[[0.5, 0.3, 0.2]]]), torch.tensor([[[0.2, 0.2, 0.6]]])
    by_hand = sum(a * torch.log(a / b) for a, b in zip(p[0, 0], q[0, 0]))
    torch.testing.assert_close(exact_kl(p.log(), q.log())[0, 0], by_hand)
    mean_k3 = (p * k3_kl(p.log(), q.log())).sum()  # k3 is unbiased under the policy
    torch.testing.assert_close(mean_k3, by_hand)


def test_k3_is_no_kl_on_samples_of_the_reference():
    """D_env holds texts of the initial simulator: there only `exact` gives KL(policy || reference)."""
    policy, reference = torch.tensor([0.05, 0.15, 0.8]), torch.tensor([0.6, 0.3, 0.1])
    true = (policy * (policy / reference).log()).sum()
    k3 = k3_kl(policy.log(), reference.log())
    torch.testing.assert_close((policy * k3).sum(), true)  # on its own samples it is unbiased
    assert (reference * k3).sum() > 3 * true
    exact = exact_kl(policy.log().repeat(3, 1), reference.log().repeat(3, 1))  # whatever token was sampled
    torch.testing.assert_close((reference * exact).sum(), true)


def on_policy(model, count: int = 8) -> list[dict]:
    """Records with the log-probabilities that the model itself gives them."""
    policy = AutoModelForCausalLM.from_pretrained(model["path"], dtype=torch.float32)
    rng, rows = random.Random(5), []
    for _ in range(count):
        row = sequence(rng, 0)
        with torch.no_grad():
            logits = policy(torch.tensor([row["token_ids"]])).logits[0, :-1] / row["temperature"]
        labels = torch.tensor(row["token_ids"][1:])
        logprobs = torch.log_softmax(logits, -1).gather(-1, labels[:, None])[:, 0]
        rows.append(row | {"logprobs": [0.0, *logprobs.tolist()]})
    return rows


def test_the_clip_acts_from_the_second_step_of_an_epoch_on(model):
    """In the first step the policy is the one that sampled: the ratio is 1, and no clip changes anything."""

    def gradient(policy, clip: float) -> torch.Tensor:
        settings = job_settings(clip_low=clip, clip_high=clip)
        rows = [check_record(row, "record", "grpo", settings) for row in on_policy(model)]
        policy.zero_grad()
        objective = Objective("grpo", settings, policy, None, None, lambda: None)
        objective.accumulate_gradients(StepBatch.of(rows, 1000, CPU), pull_back=False)
        return torch.cat([p.grad.flatten() for p in policy.parameters()])

    policy = AutoModelForCausalLM.from_pretrained(model["path"], dtype=torch.float32).train()
    first = gradient(policy, 0.01)
    torch.testing.assert_close(first, gradient(policy, 0.9))
    optimizer = torch.optim.SGD(policy.parameters(), lr=1.0)
    optimizer.step()
    assert not torch.allclose(gradient(policy, 0.01), gradient(policy, 0.9))
