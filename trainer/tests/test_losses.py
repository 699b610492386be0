"""Regression, KL and gradient accumulation against values computed by hand."""

import random
from pathlib import Path

import pytest
import torch
from job_folders import job_settings, sequence
from transformers import AutoModelForCausalLM

from genenv_trainer.errors import NotFinite
from genenv_trainer.forward import Reference
from genenv_trainer.job_config import Settings
from genenv_trainer.losses import exact_kl, k3_kl
from genenv_trainer.models import load_reference
from genenv_trainer.records import check_record
from genenv_trainer.step import Objective, StepBatch

CPU = torch.device("cpu")


def records(kind: str, settings: Settings, count: int = 8):
    rng = random.Random(3)
    return [check_record(sequence(rng, 0), f"record {i}", kind, settings) for i in range(count)]


def gradients(kind, settings, model, reference, rows, token_budget):
    """(loss, flat gradient) of one step of a fresh copy of the policy."""
    policy = AutoModelForCausalLM.from_pretrained(model["path"], dtype=torch.float32).train()
    frozen = load_reference(Path(reference["path"]), torch.float32, CPU)
    terms = Reference(frozen, False, settings.kl_estimator, None) if settings.kl_coefficient else None
    objective = Objective(kind, settings, policy, terms, None, lambda: None)
    batch = StepBatch.of(rows, token_budget, CPU)
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
