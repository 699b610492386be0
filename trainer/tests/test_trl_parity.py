"""Our GRPO loss and its gradient equal those of TRL's GRPOTrainer, to 1e-6.

TRL offers its loss nowhere in public, so this test calls `_compute_loss` and sets and reads
`_entropy_bonus_enabled` and `_metrics`. They may change in any release: requirements.in pins TRL to the one
release that this test was written for.
"""

import random
from pathlib import Path

import pytest
import torch
from job_folders import alike_sequences, job_settings
from transformers import AutoModelForCausalLM

from genenv_trainer.forward import Reference, label_logprobs, log_distribution
from genenv_trainer.models import load_reference
from genenv_trainer.records import check_record
from genenv_trainer.shared_prefixes import use_shared_prefixes
from genenv_trainer.step import Objective, StepBatch

CPU = torch.device("cpu")
TEMPERATURE = 0.9
LENGTH = 9


@pytest.fixture(scope="module")
def trainer(model, tmp_path_factory):
    """A real GRPOTrainer; only its loss is used."""
    from datasets import Dataset
    from trl import GRPOConfig, GRPOTrainer

    args = GRPOConfig(
        output_dir=str(tmp_path_factory.mktemp("trl")),
        use_cpu=True,
        bf16=False,
        beta=0.1,
        epsilon=0.2,
        epsilon_high=0.28,
        temperature=TEMPERATURE,
        max_completion_length=LENGTH,
        per_device_train_batch_size=8,
        num_generations=4,
        report_to=[],
        gradient_checkpointing=False,
    )
    return GRPOTrainer(
        AutoModelForCausalLM.from_pretrained(model["path"], dtype=torch.float32),
        lambda **_: [0.0],
        args=args,
        train_dataset=Dataset.from_list([{"prompt": "ab"}] * 8),
    )


@pytest.fixture(scope="module")
def records(model):
    """Eight sequences near the policy's own log-probabilities, far enough for both clips to act. All begin alike, and
    two repeat another one."""
    rng = random.Random(5)
    rows = alike_sequences(1, seed=5)
    made = [check_record(row, f"record {i}", "grpo", job_settings()) for i, row in enumerate(rows)]
    policy = load_reference(Path(model["path"]), torch.float32, CPU)
    for record in made:
        (micro,) = StepBatch.of([record], 1000, CPU).micro_batches
        own = label_logprobs(log_distribution(policy, micro, None), micro)[0].tolist()
        record.logprobs = [0.0] * record.mask.count(0) + [
            min(0.0, value + rng.gauss(0, 0.4)) for value in own
        ]
    return made


def trl_inputs(records, reference_model) -> dict:
    """The same records as TRL lays them out: prompts padded on the left, completions on the right."""
    prompt_length = max(record.mask.count(0) for record in records)
    columns = {
        name: []
        for name in (
            "prompt_ids",
            "prompt_mask",
            "completion_ids",
            "completion_mask",
            "old_per_token_logps",
            "ref_per_token_logps",
        )
    }
    for record in records:
        cut = record.mask.count(0)
        pad, tail = prompt_length - cut, LENGTH - (len(record.token_ids) - cut)
        (micro,) = StepBatch.of([record], 1000, CPU).micro_batches
        ref = label_logprobs(log_distribution(reference_model, micro, None), micro)[0].tolist()
        columns["prompt_ids"].append([0] * pad + record.token_ids[:cut])
        columns["prompt_mask"].append([0] * pad + [1] * cut)
        columns["completion_ids"].append(record.token_ids[cut:] + [0] * tail)
        columns["completion_mask"].append(record.mask[cut:] + [0] * tail)
        columns["old_per_token_logps"].append(record.logprobs[cut:] + [0.0] * tail)
        columns["ref_per_token_logps"].append(ref + [0.0] * tail)
    inputs = {name: torch.tensor(rows) for name, rows in columns.items()}
    return inputs | {
        "advantages": torch.tensor([record.advantage for record in records]),
        "num_items_in_batch": inputs["completion_mask"].sum(),
    }


@pytest.mark.parametrize("packed", [False, True], ids=["padded", "packed"])
@pytest.mark.parametrize("entropy_coefficient", [0.0, 0.01])
@pytest.mark.parametrize("kl", ["no kl", "kl", "kl with bias correction"])
@pytest.mark.parametrize("loss_type", ["grpo", "dr_grpo", "dapo"])
def test_loss_and_gradient_equal_trl(
    trainer, model, reference, records, loss_type, kl, entropy_coefficient, packed
):
    beta, correction = (0.0 if kl == "no kl" else 0.1), kl == "kl with bias correction"
    reference_model = load_reference(Path(reference["path"]), torch.float32, CPU)
    trainer.loss_type, trainer.beta, trainer.args.use_bias_correction_kl = loss_type, beta, correction
    trainer.entropy_coef, trainer._entropy_bonus_enabled = entropy_coefficient, entropy_coefficient != 0
    trainer.current_gradient_accumulation_steps = trainer.args.steps_per_generation = 1
    trainer._metrics["train"].clear()
    trainer.model.train().zero_grad()
    with torch.no_grad():
        inputs = trl_inputs(records, reference_model)
    expected = trainer._compute_loss(trainer.model, inputs)
    expected.backward()

    settings = job_settings(
        loss_type=loss_type, max_completion_length=LENGTH, kl_coefficient=beta, kl_bias_correction=correction,
        entropy_coefficient=entropy_coefficient,
    )
    ours = AutoModelForCausalLM.from_pretrained(model["path"], dtype=torch.float32).train()
    reference_terms = Reference(reference_model, False, "k3", None) if beta else None
    if packed:
        use_shared_prefixes(ours)
        use_shared_prefixes(reference_model)
    objective = Objective("grpo", settings, ours, reference_terms, None, lambda: None, packed)
    loss, sums = objective.accumulate_gradients(StepBatch.of(records, 50, CPU, packed), pull_back=False)

    assert loss == pytest.approx(expected.item(), abs=1e-6)
    for (name, ours_p), (_, theirs_p) in zip(
        ours.named_parameters(), trainer.model.named_parameters(), strict=True
    ):
        torch.testing.assert_close(
            ours_p.grad, theirs_p.grad, atol=1e-6, rtol=0, msg=lambda text: f"{name}: {text}"
        )
    active = sum(sum(record.mask) for record in records)
    names = ["clip_ratio/low_mean", "clip_ratio/high_mean", "clip_ratio/region_mean", "entropy"]
    for name in names + (
        [] if correction or not beta else ["kl"]
    ):  # TRL's kl carries the correction, ours is the plain estimate
        assert sums[name] / active == pytest.approx(trainer._metrics["train"][name][0], abs=1e-6), name
    assert (
        sums["clip_ratio/low_mean"] > 0 and sums["clip_ratio/high_mean"] > 0
    ), "the clip must be active for this test to mean anything"
