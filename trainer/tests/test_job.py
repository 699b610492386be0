"""What a job leaves: bytes that follow from its inputs alone, folders that the libraries load."""

import pytest
import torch
from job_folders import (
    WITH_DROPOUT,
    change_job,
    copy_inputs,
    digests,
    outcome,
    progress,
    read,
    sequences,
    texts,
    work_folder,
)
from safetensors.torch import load_file
from transformers import AutoModelForCausalLM, AutoTokenizer

COSINE = {"schedule": "cosine", "schedule_steps": 4, "warmup_steps": 1, "weight_decay": 0.1}


def test_equal_jobs_leave_equal_bytes(launcher, model, tmp_path):
    one = work_folder(tmp_path / "one", "grpo", sequences(2), model)
    two = copy_inputs(one, tmp_path / "two")
    launcher.run(one)
    launcher.run(two)
    assert outcome(one) == outcome(two)
    assert read(one, "result.json")["steps_done"] == 2


def test_outputs_load_and_speak(policy):
    folder = policy / "output" / "checkpoint"
    tokenizer = AutoTokenizer.from_pretrained(folder)
    assert tokenizer("ab<eos>").input_ids == [3, 4, 2] and tokenizer.decode([3, 4]) == "ab"
    assert (tokenizer.pad_token_id, tokenizer.bos_token_id, tokenizer.eos_token_id) == (0, 1, 2)
    loaded = AutoModelForCausalLM.from_pretrained(folder)
    assert loaded.config.eos_token_id == 2
    assert loaded.generate(torch.tensor([[3, 4]]), max_new_tokens=3, min_new_tokens=3).shape == (1, 5)


def test_progress_and_exit(policy):
    phases = [(line["phase"], line["step"], line["steps"]) for line in progress(policy)]
    assert phases == [("loading", 0, 0), ("step", 1, 2), ("step", 2, 2), ("saving", 2, 2)]
    report = read(policy, "exit.json")
    assert (report["reason"], report["resumed_from"], report["tokens_per_micro_batch"]) == (
        "finished",
        None,
        16384,
    )


def test_groups_without_signal_cost_nothing_and_change_nothing(launcher, model, tmp_path):
    """Left out of the batch, but counted in its totals, they leave the steps that the whole batch makes."""
    whole = sequences(2)
    for record in whole:
        record["advantage"] *= record["group_id"] in ("g0", "g1")
    informative = [record for record in whole if record["advantage"]]
    totals = [
        {"sequences": len(rows), "active_tokens": sum(sum(row["mask"]) for row in rows)}
        for rows in ([row for row in whole if row["step"] == step] for step in range(2))
    ]
    kept = launcher.run(work_folder(tmp_path / "kept", "grpo", whole, model))
    settings = {"normaliser_totals": totals}
    dropped = launcher.run(work_folder(tmp_path / "dropped", "grpo", informative, model, settings))
    rescaled = launcher.run(work_folder(tmp_path / "rescaled", "grpo", informative, model))

    def norms(folder):
        log = read(folder, "result.json")["steps_log"]
        return [(step["loss"], step["grad_norm"]) for step in log]

    assert norms(dropped)[0] == pytest.approx(norms(kept)[0], abs=1e-6)
    assert norms(dropped)[1] == pytest.approx(norms(kept)[1], abs=1e-4)
    assert norms(rescaled)[0][1] > 1.2 * norms(kept)[0][1]
    tokens = [read(folder, "result.json")["metrics"]["num_tokens"] for folder in (kept, dropped)]
    assert tokens[1] < tokens[0]


@pytest.mark.parametrize("kind", ["grpo", "rwr", "supervised"])
def test_steps_in_many_jobs_equal_one_job(launcher, tmp_path, kind):
    """Optimizer moments, schedule position and random state (dropout is on) travel with the trainer state."""
    first = launcher.run(work_folder(tmp_path / "first", "supervised", texts(1), WITH_DROPOUT, COSINE))
    start = {
        "model": {"path": str(first / "output/checkpoint")},
        "trainer_state": str(first / "output/trainer-state"),
        "settings": COSINE,
    }
    records = texts(3) if kind == "supervised" else sequences(3)
    whole = launcher.run(work_folder(tmp_path / "whole", kind, records, **start))
    before = first
    for step in range(3):
        own = [record | {"step": 0} for record in records if record["step"] == step]
        start |= {
            "model": {"path": str(before / "output/checkpoint")},
            "trainer_state": str(before / "output/trainer-state"),
        }
        before = launcher.run(
            work_folder(
                tmp_path / f"part-{step}", kind, own, **start, seed=100 + step, input_hash=f"hash-{step}"
            )
        )
    assert digests(before, "output") == digests(whole, "output")
    weights = [load_file(folder / "output/checkpoint/model.safetensors") for folder in (first, whole)]
    assert any(
        not torch.equal(weights[0][name], weights[1][name]) for name in weights[0]
    ), "it must have trained"


def test_finished_folder_returns_at_once_and_refuses_another_hash(launcher, model, tmp_path):
    folder = launcher.run(work_folder(tmp_path / "work", "rwr", sequences(1), model))
    before = outcome(folder)
    lines = len(progress(folder))
    launcher.run(folder)
    assert outcome(folder) == before and len(progress(folder)) == lines
    change_job(folder, input_hash="hash-2")
    launcher.run(folder, expect=1)
    assert outcome(folder) == before
    report = read(folder, "exit.json")
    assert report["reason"] == "invalid_config" and "hash-1 is not job.json's hash-2" in report["message"]


@pytest.mark.parametrize("records, skipped, steps", [
    ([], "empty_batch", 0),
    ([record | {"advantage": 0} for record in sequences(1)], "too_few_informative_groups", 1),
])
def test_nothing_to_learn_keeps_the_weights(launcher, policy, model, tmp_path, records, skipped, steps):
    state = str(policy / "output/trainer-state")
    folder = launcher.run(work_folder(tmp_path / "work", "grpo", records, model, trainer_state=state))
    result = read(folder, "result.json")
    assert (result["skipped"], result["steps"], result["steps_done"]) == (skipped, steps, 0)
    assert digests(folder, "output") == digests(policy, "output")


@pytest.mark.parametrize("change, reason, words", [
    ({"device": "cuda"}, "invalid_config", "no CUDA device"),
    ({"model": {"path": "/nowhere"}}, "invalid_artifact", "/nowhere"),
    ({"trainer_state": "/nowhere"}, "invalid_artifact", "/nowhere"),
    ({"settings": {"max_kl": 1.0}}, "invalid_config", "job.json.reference"),
])
def test_what_cannot_run_says_why(launcher, model, tmp_path, change, reason, words):
    if "device" in change and torch.cuda.is_available():
        pytest.skip("there is a CUDA device here")
    folder = work_folder(tmp_path / "work", "rwr", sequences(1), model)
    change_job(folder, **change)
    launcher.run(folder, expect=1)
    report = read(folder, "exit.json")
    assert report["reason"] == reason and words in report["message"]


def test_bfloat16_and_gradient_checkpointing_run_on_cpu(launcher, model, tmp_path):
    folder = work_folder(
        tmp_path / "work", "grpo", sequences(1), model, precision="bfloat16", gradient_checkpointing=True
    )
    launcher.run(folder)
    assert read(folder, "result.json")["steps_done"] == 1
    assert (
        load_file(folder / "output/checkpoint/model.safetensors")["model.norm.weight"].dtype == torch.float32
    )
