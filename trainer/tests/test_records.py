"""A bad record or setting is refused with its place, field and value."""

import json
import random

import pytest
from job_folders import SCRATCH, VERSION, sequence, work_folder

from genenv_trainer.batch import check_fits
from genenv_trainer.errors import InvalidArtifact, InvalidConfig
from genenv_trainer.job_config import Settings, load_job
from genenv_trainer.records import read_records
from genenv_trainer.sealed_json import seal, unseal


def refused(tmp_path, kind: str, record: dict, settings: Settings) -> str:
    path = tmp_path / "batch.jsonl"
    path.write_text(json.dumps(sequence(random.Random(0), 0)) + "\n" + json.dumps(record) + "\n")
    with pytest.raises(InvalidArtifact) as error:
        read_records(path, kind, settings)
    return str(error.value)


@pytest.mark.parametrize("kind, change, words", [
    ("grpo", {"advantage": float("nan")}, ["record 2", "'advantage'", "nan"]),
    ("grpo", {"temperature": 0}, ["'temperature'", "0"]),
    ("grpo", {"logprobs": [0.5]}, ["'logprobs'", "[0.5]"]),
    ("grpo", {"mask": [1, 1]}, ["'mask'"]),
    ("grpo", {"token_ids": []}, ["'token_ids'", "[]"]),
    ("grpo", {"step": -1}, ["'step'", "-1"]),
    ("grpo", {"policy_version": "agent@0002-bbbbbb"}, ["'agent@0002-bbbbbb'", "max_policy_lag is 0"]),
    ("rwr", {"weight": -1}, ["'weight'", "-1"]),
    ("rwr", {"weight": None}, ["'weight'", "None"]),
])
def test_bad_record_is_named(tmp_path, kind, change, words):
    message = refused(tmp_path, kind, sequence(random.Random(1), 0) | change, Settings(learning_rate=0, policy_version=VERSION))
    assert all(word in message for word in words), message


def test_policy_lag(tmp_path):
    record = sequence(random.Random(1), 0)
    allowed = Settings(learning_rate=0, policy_version=VERSION, max_policy_lag=1)
    path = tmp_path / "batch.jsonl"
    path.write_text(json.dumps(record | {"policy_version": "agent@0002-bbbbbb"}))
    assert len(read_records(path, "grpo", allowed)[0]) == 1
    for version in ("agent@0001-cccccc", "agent@0004-dddddd", "agent@0003-eeeeee", "agent"):
        assert repr(version) in refused(tmp_path, "grpo", record | {"policy_version": version}, allowed)
    path.write_text(json.dumps(record | {"policy_version": "agent@0001-cccccc"}))
    assert read_records(path, "rwr", allowed), "regression records are off-policy"


def test_foreign_token_is_named(tmp_path):
    path = tmp_path / "batch.jsonl"
    path.write_text(json.dumps({"step": 0, "token_ids": [3, 99], "mask": [0, 1], "weight": 1}))
    (records,) = read_records(path, "rwr", Settings(learning_rate=0))
    with pytest.raises(InvalidArtifact, match="record 1.*99 is outside the model's vocabulary of 19"):
        check_fits(records, 19, None)
    with pytest.raises(InvalidArtifact, match="2 tokens.*max_position_embeddings 1"):
        check_fits(records, 100, 1)


@pytest.mark.parametrize("change, words", [
    ({"kind": "ppo"}, ["job.json.kind", "'ppo'", "'grpo'"]),
    ({"colour": 1}, ["job.json.colour", "unknown field"]),
    ({"settings": {}}, ["job.json.settings.learning_rate", "missing"]),
    ({"settings": {"learning_rate": "1"}}, ["job.json.settings.learning_rate", "'1'", "finite number"]),
    ({"settings": {"learning_rate": 1, "betas": [0.9]}}, ["job.json.settings.betas", "list of 2"]),
    ({"settings": {"learning_rate": 1, "loss_type": "dr_grpo", "policy_version": "a"}}, ["max_completion_length", "dr_grpo"]),
    ({"model": {}}, ["job.json.model", "either path or scratch"]),
    ({"threads": 0}, ["job.json.threads", "0"]),
])
def test_bad_setting_is_named(tmp_path, change, words):
    folder = work_folder(tmp_path / "work", "grpo", [], SCRATCH)
    job = unseal((folder / "job.json").read_text()) | change
    (folder / "job.json").write_text(seal(job))
    with pytest.raises(InvalidConfig) as error:
        load_job(folder / "job.json")
    assert all(word in str(error.value) for word in words), error.value
