"""Weights in parts: the bytes of the same job with whole weights, on any number of processes."""

from functools import cache
from pathlib import Path

import pytest
from job_folders import (
    ADAPTER,
    ARCHITECTURE,
    VOCABULARY,
    alike_sequences,
    change_job,
    copy_inputs,
    outcome,
    read,
    sequences,
    texts,
    work_folder,
)

STEPS = 3
WIDE = {
    "scratch": {
        "architecture": ARCHITECTURE | {"hidden_size": 64, "intermediate_size": 64, "num_attention_heads": 4},
        "vocabulary": VOCABULARY,
    }
}
"""A fourth of each of its tensors is a multiple of 16 numbers, which AdamW takes at a time."""
KINDS = {
    "grpo": {"kl_coefficient": 0.1, "max_kl": 5.0, "batch_layout": "packed"},
    "rwr": {"kl_coefficient": 0.1, "kl_estimator": "exact", "max_step_kl": 0.02},
}


@pytest.fixture(scope="module")
def wide(launcher, tmp_path_factory) -> dict:
    folder = work_folder(tmp_path_factory.mktemp("wide") / "work", "supervised", texts(1), WIDE)
    return {"path": str(launcher.run(folder) / "output" / "checkpoint")}


@pytest.fixture(scope="module")
def with_whole_weights(launcher, wide, tmp_path_factory):
    """The work folder of a job that one process has done, with the same job in parts."""

    @cache
    def folder_of(kind: str) -> Path:
        path = tmp_path_factory.mktemp("whole") / "work"
        settings = {**KINDS[kind], "tokens_per_micro_batch": 30, "weight_decay": 0.01}
        fields = {"reference": wide, "random_stream": "micro_batch", "sharding": "full"}
        folder = work_folder(path, kind, alike_sequences(STEPS), wide, settings, **fields)
        assert read(launcher.run(folder), "result.json")["steps_done"] == STEPS
        return folder

    return folder_of


@pytest.mark.parametrize("size", [2, 4])
@pytest.mark.parametrize("kind", KINDS)
def test_parts_change_no_byte(launcher, with_whole_weights, tmp_path, kind, size):
    folder = launcher.run_ranks(copy_inputs(with_whole_weights(kind), tmp_path / "work"), size)
    assert outcome(folder) == outcome(with_whole_weights(kind))


def test_resumed_with_another_number_of_processes_and_in_other_parts(launcher, with_whole_weights, tmp_path):
    """Four processes with parts, two with parts, two with whole weights, each killed; then one."""
    folder = copy_inputs(with_whole_weights("grpo"), tmp_path / "work")
    change_job(folder, checkpoint_every=1)
    assert 137 in launcher.end_ranks(folder, 4, GENENV_TRAINER_FAULT="exit:1:rank=3")
    (written,) = (folder / "checkpoints").iterdir()
    assert len(list(written.glob("shard-*.safetensors"))) == 4
    assert 137 in launcher.end_ranks(folder, 2, GENENV_TRAINER_FAULT="exit:2:rank=1")
    assert read(folder, "exit.json")["resumed_from"] == 1
    change_job(folder, sharding="none")
    launcher.run_ranks(folder, 2)
    assert read(folder, "exit.json")["resumed_from"] == 2
    assert outcome(folder) == outcome(with_whole_weights("grpo"))


def test_whole_weights_are_taken_up_in_parts(launcher, with_whole_weights, tmp_path):
    folder = copy_inputs(with_whole_weights("rwr"), tmp_path / "work")
    launcher.run(folder, expect=137, GENENV_TRAINER_FAULT="exit:1")
    launcher.run_ranks(folder, 2)
    assert read(folder, "exit.json")["resumed_from"] == 1
    assert outcome(folder) == outcome(with_whole_weights("rwr"))


def test_trainer_state_of_the_job_before_is_taken_up_in_parts(launcher, with_whole_weights, tmp_path):
    before = with_whole_weights("rwr") / "output"
    one = copy_inputs(with_whole_weights("rwr"), tmp_path / "one")
    change_job(
        one,
        model={"path": str(before / "checkpoint")},
        trainer_state=str(before / "trainer-state"),
        input_hash="hash-2",
    )
    two = copy_inputs(one, tmp_path / "two")
    assert outcome(launcher.run_ranks(two, 2)) == outcome(launcher.run(one))


@pytest.mark.parametrize("rank", [0, 1])
def test_out_of_memory_inside_the_model_ends_the_job_as_such(launcher, with_whole_weights, tmp_path, rank):
    """The others wait for a part of the weights then, and cannot be told."""
    folder = copy_inputs(with_whole_weights("grpo"), tmp_path / "work")
    launcher.run_ranks(folder, 2, expect=1, GENENV_TRAINER_FAULT=f"oom_inside:1:once:rank={rank}")
    assert read(folder, "exit.json")["reason"] == "out_of_memory"
    launcher.run_ranks(folder, 2)
    assert read(folder, "exit.json")["resumed_from"] == 1
    assert outcome(folder) == outcome(with_whole_weights("grpo"))


def test_a_torn_part_is_named_and_left_for_the_checkpoint_before(launcher, with_whole_weights, tmp_path):
    folder = copy_inputs(with_whole_weights("grpo"), tmp_path / "work")
    launcher.end_ranks(folder, 2, GENENV_TRAINER_FAULT="exit:2")
    (torn,) = (folder / "checkpoints" / "step-000002").glob("shard-00002-*")
    torn.write_bytes(torn.read_bytes()[:-1])
    launcher.run_ranks(folder, 2)
    assert read(folder, "exit.json")["resumed_from"] == 1
    assert f"step-000002: {torn.name} is torn" in (folder / "log.txt").read_text()
    assert outcome(folder) == outcome(with_whole_weights("grpo"))


def test_parts_are_for_full_weights(launcher, wide, tmp_path):
    folder = work_folder(tmp_path / "work", "grpo", sequences(1), wide, adapter=ADAPTER, sharding="full")
    launcher.run(folder, expect=1)
    report = read(folder, "exit.json")
    assert report["reason"] == "invalid_config" and "job.json.sharding" in report["message"]
