"""Several processes of one job: as many as there are, the bytes are the same; and none is left behind."""

import os
import signal
import subprocess
import sys
import time
from functools import cache
from pathlib import Path

import pytest
from job_folders import (
    ADAPTER,
    ENVIRONMENT,
    SCRATCH,
    WITH_DROPOUT,
    alike_sequences,
    change_job,
    copy_inputs,
    digests,
    outcome,
    progress,
    read,
    sequences,
    texts,
    wait_until,
    work_folder,
)

from genenv_trainer.errors import InvalidConfig
from genenv_trainer.job import device_lock
from genenv_trainer.ranks import Ranks

STEPS = 3
SMALL = {"tokens_per_micro_batch": 30}
"""Several micro-batches a step, of unequal size, and not as many as fit the processes."""
KINDS = {
    "grpo": {"kl_coefficient": 0.1, "max_kl": 5.0, "entropy_coefficient": 0.01},
    "rwr": {"kl_coefficient": 0.1, "kl_estimator": "exact", "max_step_kl": 0.02},
    "supervised": {},
}


@pytest.fixture(scope="module")
def by_one(launcher, model, reference, tmp_path_factory):
    """The work folder of a job that one process has done."""

    @cache
    def folder_of(kind: str, weights: str) -> Path:
        is_adapter, has_kl = weights == "adapter", kind != "supervised"
        folder = work_folder(
            tmp_path_factory.mktemp("one") / "work",
            kind,
            sequences(STEPS) if has_kl else texts(STEPS),
            model,
            {**KINDS[kind], **SMALL},
            adapter=ADAPTER | {"dropout": 0.1} if is_adapter else None,
            reference=reference if has_kl and not is_adapter else None,
            random_stream="micro_batch",
        )
        assert read(launcher.run(folder), "result.json")["steps_done"] == STEPS
        return folder

    return folder_of


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("weights", ["full", "adapter"])
def test_the_number_of_processes_changes_no_byte(launcher, by_one, tmp_path, kind, weights):
    one = by_one(kind, weights)
    for size in (2, 4):
        folder = launcher.run_ranks(copy_inputs(one, tmp_path / str(size)), size)
        assert outcome(folder) == outcome(one)
        assert read(folder, "exit.json")["reason"] == "finished"


def test_packed_batches(launcher, model, reference, tmp_path):
    settings = {**SMALL, "batch_layout": "packed", "kl_coefficient": 0.1, "max_kl": 5.0}
    fields = {"reference": reference, "random_stream": "micro_batch"}
    one = work_folder(tmp_path / "one", "grpo", alike_sequences(STEPS), model, settings, **fields)
    three = copy_inputs(one, tmp_path / "three")
    assert outcome(launcher.run_ranks(three, 3)) == outcome(launcher.run(one))


def test_gradient_norms(launcher, model, tmp_path):
    records = sequences(STEPS, rows=5)
    for record in records:
        record["group_id"] = f"g{record['step']}"
    fields = {"random_stream": "micro_batch"}
    one = work_folder(tmp_path / "one", "gradient_norms", records, model, **fields)
    two = copy_inputs(one, tmp_path / "two")
    launcher.run(one)
    launcher.run_ranks(two, 2)
    assert digests(two, "result.json") == digests(one, "result.json")


def test_without_dropout_the_stream_of_random_numbers_changes_no_byte(launcher, tmp_path):
    """Runs that began without the setting go on with the same bytes."""
    own = work_folder(tmp_path / "own", "grpo", sequences(STEPS), SCRATCH, SMALL)
    seeded = copy_inputs(own, tmp_path / "seeded")
    change_job(seeded, random_stream="micro_batch")
    assert outcome(launcher.run(own)) == outcome(launcher.run(seeded))


def test_one_stream_of_random_numbers_is_not_for_several_processes(launcher, tmp_path):
    folder = work_folder(tmp_path / "work", "grpo", sequences(STEPS), WITH_DROPOUT)
    launcher.run_ranks(folder, 2, expect=1)
    report = read(folder, "exit.json")
    assert report["reason"] == "invalid_config" and "job.json.random_stream: 'job'" in report["message"]


@pytest.fixture(scope="module")
def undisturbed(launcher, tmp_path_factory):
    path = tmp_path_factory.mktemp("undisturbed") / "work"
    folder = work_folder(path, "grpo", sequences(STEPS), WITH_DROPOUT, SMALL, random_stream="micro_batch")
    return launcher.run(folder)


@pytest.mark.parametrize("weights", ["full", "adapter"])
@pytest.mark.parametrize("kind", ["grpo", "rwr"])
def test_resumed_with_another_number_of_processes(launcher, by_one, tmp_path, kind, weights):
    folder = copy_inputs(by_one(kind, weights), tmp_path / "work")
    launcher.end_ranks(folder, 2, GENENV_TRAINER_FAULT="exit:1:rank=1")
    launcher.end_ranks(folder, 4, GENENV_TRAINER_FAULT="exit:2")
    assert not (folder / "result.json").exists()
    launcher.run(folder)
    assert read(folder, "exit.json")["resumed_from"] == 2
    assert outcome(folder) == outcome(by_one(kind, weights))


def test_a_finished_job_is_left_alone(launcher, undisturbed, tmp_path):
    folder = copy_inputs(undisturbed, tmp_path / "work")
    before = outcome(launcher.run_ranks(folder, 2))
    lines = len(progress(folder))
    launcher.run_ranks(folder, 2)
    assert outcome(folder) == before
    assert "step" not in {line["phase"] for line in progress(folder)[lines:]}


@pytest.mark.parametrize("rank", [0, 1])
def test_a_killed_process_ends_the_others(launcher, undisturbed, tmp_path, rank):
    folder = copy_inputs(undisturbed, tmp_path / "work")
    codes = launcher.end_ranks(folder, 2, GENENV_TRAINER_FAULT=f"exit:1:rank={rank}")
    assert codes[rank] == 137 and codes[1 - rank] == 1
    if rank == 1:
        report = read(folder, "exit.json")
        assert (report["reason"], report["resumed_from"]) == ("failed", None)
        assert "another process of this job has ended" in report["message"]
    launcher.run_ranks(folder, 2)
    assert read(folder, "exit.json")["resumed_from"] == 1
    assert outcome(folder) == outcome(undisturbed)


@pytest.mark.parametrize("rank", [0, 1])
def test_out_of_memory_in_one_process_ends_the_job_as_such(launcher, undisturbed, tmp_path, rank):
    folder = copy_inputs(undisturbed, tmp_path / "work")
    launcher.run_ranks(folder, 2, expect=1, GENENV_TRAINER_FAULT=f"oom:2:once:rank={rank}")
    report = read(folder, "exit.json")
    assert (report["reason"], report["tokens_per_micro_batch"]) == ("out_of_memory", 30)
    launcher.run_ranks(folder, 2)
    assert read(folder, "exit.json")["resumed_from"] == 2
    assert outcome(folder) == outcome(undisturbed)


def test_a_stopped_process_holds_the_progress_up(launcher, undisturbed, tmp_path):
    """A worker sees that nothing advances, and kills the job. Here the test kills the one that hangs."""
    folder = copy_inputs(undisturbed, tmp_path / "work")
    first, second = launcher.start_ranks(folder, 2, GENENV_TRAINER_FAULT="stop:1:once:rank=1")
    stopped = wait_until(lambda: process_of_fault(folder))
    wait_until(lambda: state_of(stopped) == "T")
    os.kill(stopped, signal.SIGKILL)
    assert first.get(timeout=600) == 1 and second.get(timeout=600) == -signal.SIGKILL
    assert progress(folder)[-1]["step"] == 1
    assert outcome(launcher.run_ranks(folder, 2)) == outcome(undisturbed)


def process_of_fault(folder) -> int | None:
    marker = folder / ".fault-stop-1"
    text = marker.read_text() if marker.exists() else ""
    return int(text) if text.endswith("\n") else None


def state_of(pid: int) -> str:
    """As the system tells it: T = stopped."""
    stat = Path(f"/proc/{pid}/stat").read_text()
    return stat[stat.rindex(")") + 2 :].split(" ")[0]


def long_job(path, model):
    settings = {"tokens_per_micro_batch": 1}
    fields = {"random_stream": "micro_batch", "checkpoint_every": 5000}
    return work_folder(path, "rwr", sequences(2000, rows=2), model, settings, **fields)


@pytest.mark.parametrize("told", [[0], [1], [0, 1]])
def test_sigterm_to_any_process_checkpoints_and_ends_all(launcher, model, tmp_path, told):
    folder = long_job(tmp_path / "work", model)
    ended = launcher.start_ranks(folder, 2)
    wait_until(lambda: any(line["phase"] == "step" for line in progress(folder)))
    pids = ranks_of(folder)
    for rank in told:
        os.kill(pids[rank], signal.SIGTERM)
    assert [code.get(timeout=600) for code in ended] == [75, 75]
    assert read(folder, "exit.json")["reason"] == "terminated"
    (left,) = (folder / "checkpoints").iterdir()
    assert int(left.name.removeprefix("step-")) == progress(folder)[-1]["step"]


def ranks_of(folder) -> dict[int, int]:
    """Process numbers of the job, by rank."""
    first = progress(folder)[0]["pid"]
    pids = [int(pid) for pid in os.listdir("/proc") if pid.isdigit() and writes_to(int(pid), folder / "log.txt")]
    assert first in pids and len(pids) == 2
    return {0: first, 1: next(pid for pid in pids if pid != first)}


def writes_to(pid: int, file: Path) -> bool:
    try:
        return os.readlink(f"/proc/{pid}/fd/1") == str(file)
    except OSError:
        return False


def test_a_new_claim_and_a_lease_that_nobody_touches_end_all(launcher, model, tmp_path):
    superseded, orphaned = (long_job(tmp_path / name, model) for name in ("superseded", "orphaned"))
    change_job(orphaned, orphan_grace_seconds=1)
    tomorrow = time.time() + 86400
    os.utime(orphaned / "lease", (tomorrow, tomorrow))
    ended = [launcher.start_ranks(folder, 2) for folder in (superseded, orphaned)]
    for folder in (superseded, orphaned):
        wait_until(lambda: any(line["phase"] == "step" for line in progress(folder)))
    (superseded / "fence" / "2").touch()
    os.utime(orphaned / "lease", (0, 0))
    assert [[code.get(timeout=600) for code in codes] for codes in ended] == [[1, 1], [75, 75]]
    assert read(superseded, "exit.json")["reason"] == "superseded"
    assert not (superseded / "checkpoints").exists()
    assert read(orphaned, "exit.json")["reason"] == "orphaned"


@pytest.mark.parametrize(
    "env, problem",
    [
        ({"WORLD_SIZE": "two", "RANK": "0"}, "WORLD_SIZE: 'two' is not allowed"),
        ({"WORLD_SIZE": "2", "RANK": "2"}, "RANK: 2 is not allowed; it must be less than WORLD_SIZE, 2"),
        ({"WORLD_SIZE": "0", "RANK": "0"}, "WORLD_SIZE: 0 is not allowed"),
    ],
)
def test_an_environment_that_torchrun_does_not_make_is_refused(env, problem):
    with pytest.raises(InvalidConfig, match=problem):
        Ranks.of(env)


def test_locks_of_devices_are_counted_on():
    name = Path("/devices/device-0.lock")
    assert [device_lock(name, rank, None).name for rank in (0, 1)] == ["device-0.lock", "device-1.lock"]
    assert [device_lock(name, rank, "3, GPU-5f,../x").name for rank in (0, 1, 2, 3)] == [
        "device-3.lock", "device-GPU-5f.lock", "device-2.lock", "device-3.lock",
    ]
    assert device_lock(name, 0, "").name == "device-0.lock"


def test_torchrun_itself(undisturbed, tmp_path):
    folder = copy_inputs(undisturbed, tmp_path / "work")
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
    ended = subprocess.run(
        [*command, "--max-restarts=0", "-m", "genenv_trainer", "job", str(folder)],
        env=ENVIRONMENT, capture_output=True, text=True, timeout=600,
    )
    assert ended.returncode == 0, ended.stderr + (folder / "log.txt").read_text()
    assert outcome(folder) == outcome(undisturbed)
