"""A bad record or setting is refused with its place, field and value."""

import json
import random

import pytest
from job_folders import SCRATCH, change_job, job_settings, sequence, work_folder

from genenv_trainer.batch import check_fits
from genenv_trainer.errors import InvalidArtifact, InvalidConfig
from genenv_trainer.job_config import Settings, load_job
from genenv_trainer.records import read_records
from genenv_trainer.work_folder import seal, unseal


def refused(tmp_path, kind: str, record: dict, settings: Settings) -> str:
    path = tmp_path / "batch.jsonl"
    path.write_text(json.dumps(sequence(random.Random(0), 0)) + "\n" + json.dumps(record) + "\n")
    with pytest.raises(InvalidArtifact) as error:
        read_records(path, kind, settings)
    return str(error.value)


@pytest.mark.parametrize("kind, change, words", [
    ("grpo", {"advantage": float("nan")}, ["record 2", "'advantage'", "nan"]),
    ("grpo", {"temperature": 0}, ["'temperature'", "0"]),
    ("grpo", {"logprobs": [0.5]}, ["'logprobs[0]'", "0.5", "less than or equal to 0"]),
    ("grpo", {"logprobs": [-0.5]}, ["'logprobs'", "[-0.5]", "finite numbers up to 0"]),
    ("grpo", {"mask": [1, 1]}, ["'mask'", "[1, 1]", "0 first"]),
    ("grpo", {"mask": [0, 2]}, ["'mask[1]'", "2"]),
    ("supervised", {"weight": True}, ["'weight'", "True"]),
    ("grpo", {"token_ids": []}, ["'token_ids'", "[]"]),
    ("grpo", {"step": -1}, ["'step'", "-1"]),
    ("grpo", {"policy_version": "agent@0002-bbbbbb"}, ["'agent@0002-bbbbbb'", "max_policy_lag is 0"]),
    ("rwr", {"weight": -1}, ["'weight'", "-1"]),
    ("rwr", {"weight": None}, ["'weight'", "None"]),
])
def test_bad_record_is_named(tmp_path, kind, change, words):
    message = refused(tmp_path, kind, sequence(random.Random(1), 0) | change, job_settings())
    assert all(word in message for word in words), message


def test_policy_lag(tmp_path):
    record = sequence(random.Random(1), 0)
    allowed = job_settings(max_policy_lag=1)
    path = tmp_path / "batch.jsonl"
    path.write_text(json.dumps(record | {"policy_version": "agent@0002-bbbbbb"}))
    assert len(read_records(path, "grpo", allowed)[0]) == 1
    for version in ("agent@0001-cccccc", "agent@0004-dddddd", "agent@0003-eeeeee", "agent"):
        assert repr(version) in refused(tmp_path, "grpo", record | {"policy_version": version}, allowed)
    path.write_text(json.dumps(record | {"policy_version": "agent@0001-cccccc"}))
    assert read_records(path, "rwr", allowed), "regression records are off-policy"


def test_foreign_token_is_named(tmp_path):
    path = tmp_path / "batch.jsonl"
    path.write_text(
        json.dumps({"step": 0, "token_ids": [3, 99], "mask": [0, 1], "temperature": 1, "weight": 1})
    )
    (records,) = read_records(path, "rwr", job_settings())
    with pytest.raises(InvalidArtifact, match="record 1.*99 is outside the model's vocabulary of 19"):
        check_fits(records, 19, None)
    with pytest.raises(InvalidArtifact, match="2 tokens.*max_position_embeddings 1"):
        check_fits(records, 100, 1)


@pytest.mark.parametrize(
    "change, words",
    [
        ({"kind": "ppo"}, ["job.json.kind: 'ppo'", "'grpo'"]),
        ({"colour": 1}, ["job.json.colour: unknown field"]),
        ({"settings": {"learning_rate": "1"}}, ["job.json.settings.learning_rate: '1'", "be a valid number"]),
        (
            {"settings": {"learning_rate": True}},
            ["job.json.settings.learning_rate: True", "be a valid number"],
        ),
        ({"settings": {"warmup_steps": 1.0}}, ["job.json.settings.warmup_steps: 1.0", "be a valid integer"]),
        ({"settings": {"betas": [0.9]}}, ["job.json.settings.betas[1]", "missing"]),
        (
            {"settings": {"betas": [0.9, "x" * 999]}},
            ["job.json.settings.betas[1]: 'xxx", "be a valid number"],
        ),
        ({"settings": {"clip_low": 1}}, ["job.json.settings.clip_low: 1 ", "be less than 1"]),
        (
            {"settings": {"loss_type": "dr_grpo"}},
            ["job.json.settings.max_completion_length: None", "dr_grpo"],
        ),
        (
            {"settings": {"policy_version": None}},
            ["job.json.settings.policy_version: None", "version that sampled"],
        ),
        (
            {"settings": {"kl_bias_correction": True, "kl_estimator": "exact"}},
            ["settings.kl_bias_correction: True", "k3"],
        ),
        (
            {"adapter": {"r": 4, "alpha": 8, "dropout": 0, "target_modules": []}},
            ["job.json.adapter: {", "null with model.scratch"],
        ),
        ({"model": {}}, ["job.json.model: {", "either path or scratch"]),
        ({"threads": 0}, ["job.json.threads: 0", "be greater than 0"]),
        ({"seed": 2**63}, ["job.json.seed: 9223372036854775808", "be less than 9223372036854775808"]),
    ],
)
def test_bad_setting_is_named(tmp_path, change, words):
    folder = work_folder(tmp_path / "work", "grpo", [], SCRATCH)
    change_job(folder, **change)
    with pytest.raises(InvalidConfig) as error:
        load_job(folder / "job.json")
    message = str(error.value)
    assert all(word in message for word in words) and len(message) < 400, message


def test_no_field_of_a_job_has_a_default(tmp_path):
    """What is missing is an error, also where another language would write nothing."""
    folder = work_folder(tmp_path / "work", "grpo", [], SCRATCH)
    job = unseal((folder / "job.json").read_text())
    for name in job:
        (folder / "job.json").write_text(seal({key: value for key, value in job.items() if key != name}))
        with pytest.raises(InvalidConfig, match=rf"job\.json\.{name}: missing"):
            load_job(folder / "job.json")
    for name in job["settings"]:
        settings = {key: value for key, value in job["settings"].items() if key != name}
        (folder / "job.json").write_text(seal(job | {"settings": settings}))
        with pytest.raises(InvalidConfig, match=rf"job\.json\.settings\.{name}: missing"):
            load_job(folder / "job.json")
