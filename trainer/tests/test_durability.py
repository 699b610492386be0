"""Killed, stopped, torn, orphaned, superseded: a job ends with the bytes it would have ended with
undisturbed."""

import hashlib
import json
import os
import signal
import time

import pytest
from job_folders import (
    ARCHITECTURE,
    SCRATCH,
    WITH_DROPOUT,
    change_job,
    copy_inputs,
    outcome,
    progress,
    read,
    sequences,
    texts,
    wait_until,
    work_folder,
)
from safetensors.torch import load_file

from genenv_trainer.checkpoints import StepCheckpoints
from genenv_trainer.errors import InvalidConfig, Terminated
from genenv_trainer.job_config import load_job
from genenv_trainer.setup import prepare_job
from genenv_trainer.work_folder import WorkFolder, refuse_links

STEPS = 4


@pytest.fixture(scope="module")
def undisturbed(launcher, tmp_path_factory):
    folder = tmp_path_factory.mktemp("undisturbed") / "work"
    return launcher.run(work_folder(folder, "grpo", sequences(STEPS), WITH_DROPOUT))


@pytest.mark.parametrize("checkpoint_every", [1, 2])
@pytest.mark.parametrize("step", range(STEPS))
def test_killed_at_any_step(launcher, undisturbed, tmp_path, step, checkpoint_every):
    folder = copy_inputs(undisturbed, tmp_path / "work")
    change_job(folder, checkpoint_every=checkpoint_every)
    launcher.run(folder, expect=137, GENENV_TRAINER_FAULT=f"exit:{step}")
    assert not (folder / "result.json").exists()
    launcher.run(folder)
    assert outcome(folder) == outcome(undisturbed)
    assert read(folder, "exit.json")["resumed_from"] == (step // checkpoint_every * checkpoint_every or None)


def test_torn_checkpoint_is_named_and_left_for_the_one_before(launcher, undisturbed, tmp_path):
    folder = copy_inputs(undisturbed, tmp_path / "work")
    launcher.run(folder, expect=137, GENENV_TRAINER_FAULT="exit:3")
    torn = folder / "checkpoints" / "step-000003" / "optimizer.safetensors"
    torn.write_bytes(torn.read_bytes()[:-1])
    launcher.run(folder)
    assert read(folder, "exit.json")["resumed_from"] == 2
    assert "step-000003: optimizer.safetensors is torn" in (folder / "log.txt").read_text()
    assert outcome(folder) == outcome(undisturbed)


@pytest.mark.parametrize(
    "name, spoil",
    [
        ("result.json", lambda text: text[:-20]),
        ("result.json", lambda text: text.replace('"steps": 4', '"steps": 5')),
        ("result.json", lambda text: ""),
    ],
)
def test_damaged_result_is_no_result(launcher, undisturbed, tmp_path, name, spoil):
    folder = copy_inputs(undisturbed, tmp_path / "work")
    launcher.run(folder)
    (folder / name).write_text(spoil((folder / name).read_text()))
    launcher.run(folder)
    assert f"{name}: torn or altered" in (folder / "log.txt").read_text()
    assert outcome(folder) == outcome(undisturbed)


@pytest.mark.parametrize("spoil", [lambda text: text[:100], lambda text: text.replace("0.01", "0.07")])
def test_damaged_job_is_refused_until_it_is_written_again(launcher, undisturbed, tmp_path, spoil):
    folder = copy_inputs(undisturbed, tmp_path / "work")
    whole = (folder / "job.json").read_text()
    (folder / "job.json").write_text(spoil(whole))
    launcher.run(folder, expect=1)
    report = read(folder, "exit.json")
    assert report["reason"] == "damaged_file" and "job.json: torn or altered" in report["message"]
    (folder / "job.json").write_text(whole)
    assert outcome(launcher.run(folder)) == outcome(undisturbed)


def test_checkpoints_are_taken_in_numeric_order(launcher, model, tmp_path):
    folder = work_folder(tmp_path / "work", "rwr", sequences(12, rows=2), model)
    launcher.run(folder, expect=137, GENENV_TRAINER_FAULT="exit:11")
    assert sorted(path.name for path in (folder / "checkpoints").iterdir()) == ["step-000010", "step-000011"]
    (folder / "checkpoints" / "step-000011").rename(
        folder / "checkpoints" / "step-9"
    )  # would be last as text
    launcher.run(folder)
    assert read(folder, "exit.json")["resumed_from"] == 10


def test_checkpoint_of_another_input_is_refused(launcher, undisturbed, tmp_path):
    folder = copy_inputs(undisturbed, tmp_path / "work")
    launcher.run(folder, expect=137, GENENV_TRAINER_FAULT="exit:2")
    change_job(folder, input_hash="hash-2")
    launcher.run(folder, expect=1)
    assert read(folder, "exit.json")["reason"] == "invalid_config"


def test_out_of_memory_goes_on_with_smaller_micro_batches(launcher, model, tmp_path):
    whole = work_folder(tmp_path / "whole", "grpo", sequences(STEPS), model)
    folder = copy_inputs(whole, tmp_path / "work")
    launcher.run(folder, expect=1, GENENV_TRAINER_FAULT="oom:2:once")
    assert read(folder, "exit.json")["reason"] == "out_of_memory"
    change_job(folder, settings={"tokens_per_micro_batch": 40})
    launcher.run(folder, GENENV_TRAINER_FAULT="oom:2:once")
    report = read(folder, "exit.json")
    assert (report["reason"], report["resumed_from"], report["tokens_per_micro_batch"]) == ("finished", 2, 40)
    assert_same_weights(folder, launcher.run(whole))


def test_address_space_runs_out_in_a_step_until_micro_batches_fit(launcher, tmp_path):
    """A real limit, which a large step runs into wherever it happens to allocate."""
    wide = {"scratch": {**SCRATCH["scratch"], "architecture": ARCHITECTURE | {"intermediate_size": 2048}}}
    folder = work_folder(tmp_path / "work", "rwr", sequences(2, rows=700), wide, {"learning_rate": 1e-4})
    whole = copy_inputs(folder, tmp_path / "whole")
    budget, ends = 16384, []
    while (end := launcher.start(folder, GENENV_TRAINER_FAULT="limit:1").get(timeout=120)) != 0:
        report = read(folder, "exit.json")
        assert (end, report["reason"]) == (1, "out_of_memory"), (folder / "log.txt").read_text()
        ends.append(report["message"])
        budget //= 2
        change_job(folder, settings={"tokens_per_micro_batch": budget})
    assert 1 <= len(ends) <= 6
    assert read(folder, "exit.json")["resumed_from"] == 1
    assert_same_weights(folder, launcher.run(whole))


def assert_same_weights(one, other):
    weights = [load_file(folder / "output/checkpoint/model.safetensors") for folder in (one, other)]
    assert max((weights[0][name] - weights[1][name]).abs().max().item() for name in weights[0]) < 1e-5


def test_sigterm_checkpoints_and_goes_on(launcher, tmp_path):
    """One sequence a micro-batch, so the signal comes in the middle of a step."""
    settings = {"tokens_per_micro_batch": 1}
    stopped = work_folder(
        tmp_path / "stopped", "supervised", texts(20, rows=40), WITH_DROPOUT, settings, checkpoint_every=1000
    )
    whole = copy_inputs(stopped, tmp_path / "whole")
    ended = launcher.start(stopped)
    lines = wait_until(lambda: (found := progress(stopped)) and found[-1]["step"] >= 2 and found)
    os.kill(lines[0]["pid"], signal.SIGTERM)
    assert ended.get(timeout=60) == 75
    done = progress(stopped)[-1]["step"]
    assert read(stopped, "exit.json")["reason"] == "terminated" and 2 <= done < 20
    launcher.run(stopped)
    assert read(stopped, "exit.json")["resumed_from"] == done
    assert outcome(stopped) == outcome(launcher.run(whole))


@pytest.mark.parametrize("settings", [{"max_step_kl": 1e-4}, {"max_kl": 100.0}])
def test_sigterm_after_the_optimizer_step_undoes_that_step(launcher, policy, model, tmp_path, settings):
    """The KL of the caps is measured then; the weights have moved, but the step is not counted yet."""
    state = str(policy / "output/trainer-state")
    job = {"trainer_state": state, "reference": model, "checkpoint_every": 1000}
    stopped = work_folder(tmp_path / "stopped", "rwr", sequences(4), model, settings, **job)
    whole = copy_inputs(stopped, tmp_path / "whole")
    stops_at, training = None, None

    def check() -> None:
        if training is not None and training._optimizer.position == stops_at:
            raise Terminated("SIGTERM")

    training = prepare_job(load_job(stopped / "job.json"), WorkFolder(stopped, 1), check)
    stops_at = training._optimizer.position + 3
    with pytest.raises(Terminated):
        training.run()
    training.save_checkpoint()
    launcher.run(stopped)
    assert read(stopped, "exit.json")["resumed_from"] == 2
    assert outcome(stopped) == outcome(launcher.run(whole))


def test_orphan_checkpoints_and_ends(launcher, model, tmp_path):
    folder = work_folder(
        tmp_path / "work",
        "rwr",
        sequences(3000, rows=1),
        model,
        orphan_grace_seconds=1,
        checkpoint_every=5000,
    )
    tomorrow = time.time() + 86400
    os.utime(folder / "lease", (tomorrow, tomorrow))
    ended = launcher.start(folder)
    wait_until(lambda: any(line["phase"] == "step" for line in progress(folder)))
    os.utime(folder / "lease", (0, 0))
    assert ended.get(timeout=60) == 75
    assert read(folder, "exit.json")["reason"] == "orphaned"
    (left,) = (folder / "checkpoints").iterdir()
    assert int(left.name.removeprefix("step-")) == progress(folder)[-1]["step"]


def test_higher_fence_forbids_every_write(launcher, undisturbed, tmp_path):
    late = copy_inputs(undisturbed, tmp_path / "late")
    (late / "fence" / "10").touch()
    change_job(late, fence=9)
    launcher.run(late, expect=1)
    assert read(late, "exit.json")["reason"] == "superseded"
    assert not any((late / name).exists() for name in ("checkpoints", "output", "result.json"))


@pytest.mark.parametrize("name", ["\u00b2", "\u0663", "2x", "-2"])
def test_a_name_that_the_worker_takes_for_no_claim_is_none(tmp_path, name):
    (tmp_path / "fence").mkdir()
    (tmp_path / "fence" / name).touch()
    WorkFolder(tmp_path, 1).check_fence()


def test_claim_while_running_stops_the_old_job(launcher, model, tmp_path):
    folder = work_folder(tmp_path / "work", "rwr", sequences(3000, rows=1), model, checkpoint_every=5000)
    ended = launcher.start(folder)
    wait_until(lambda: any(line["phase"] == "step" for line in progress(folder)))
    (folder / "fence" / "2").touch()
    assert ended.get(timeout=60) == 1
    assert read(folder, "exit.json")["reason"] == "superseded"
    assert not any((folder / name).exists() for name in ("checkpoints", "output", "result.json"))


def test_one_job_a_folder_and_a_device(launcher, undisturbed, tmp_path):
    """A second job waits for the first: for the folder's lock, and for the device's."""
    device_lock = str(tmp_path / "device.lock")
    hanging = copy_inputs(undisturbed, tmp_path / "hanging")
    waiting = copy_inputs(undisturbed, tmp_path / "waiting")
    for folder in (hanging, waiting):
        change_job(folder, device_lock=device_lock)
    ended = launcher.start(hanging, GENENV_TRAINER_FAULT="hang:1:once")
    first = wait_until(lambda: (hanging / ".fault-hang-1").exists() and progress(hanging)[0]["pid"])
    second_ended, other_ended = launcher.start(waiting), launcher.start(hanging)
    wait_until(lambda: len(progress(waiting)) >= 4)
    assert [line["phase"] for line in progress(waiting)[:4]] == ["loading", "waiting", "waiting", "waiting"]
    assert {line["pid"] for line in progress(hanging)} == {first}
    os.kill(first, signal.SIGKILL)
    assert second_ended.get(timeout=60) == 0 and other_ended.get(timeout=60) == 0
    assert outcome(waiting) == outcome(hanging) == outcome(undisturbed)


@pytest.mark.parametrize("guess", ["pin=0000", "pin=4711"])
@pytest.mark.parametrize("name", ["{elsewhere}", "../../../elsewhere", None])
def test_a_manifest_leads_to_no_file_elsewhere(tmp_path, capsys, guess, name):
    """Whoever writes the folder could learn from the log whether they have guessed a hash."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_text("pin=4711")
    checkpoints = StepCheckpoints(WorkFolder(tmp_path / "job", 1), "hash")
    for step in (1, 2):
        checkpoints.write(step, {}, {}, {"step": step})
    manifest = tmp_path / "job/checkpoints/step-000002/manifest.json"
    files = json.loads(manifest.read_text())["files"]
    if name is not None:
        files[name.format(elsewhere=elsewhere)] = hashlib.sha256(guess.encode()).hexdigest()
    else:
        del files["state.json"]
    manifest.write_text(json.dumps({"files": files}))
    assert checkpoints.read_newest()[2]["step"] == 1
    assert "step-000002: its manifest does not name the files of a checkpoint" in capsys.readouterr().out
    assert not manifest.exists()


@pytest.mark.parametrize("text", ["[]", '{"files": []}', '{"files": null}', "3", "{"])
def test_a_manifest_of_another_shape_is_torn(tmp_path, text):
    checkpoints = StepCheckpoints(WorkFolder(tmp_path / "job", 1), "hash")
    checkpoints.write(1, {}, {}, {})
    (tmp_path / "job/checkpoints/step-000001/manifest.json").write_text(text)
    assert checkpoints.read_newest() is None


def test_checkpoints_are_neither_read_nor_removed_through_a_link(tmp_path):
    checkpoints = StepCheckpoints(WorkFolder(tmp_path / "job", 1), "hash")
    for step in (1, 2):
        checkpoints.write(step, {}, {}, {})
    # While the job trains, long after the first check of its folder.
    (tmp_path / "job" / "checkpoints").rename(tmp_path / "elsewhere")
    (tmp_path / "job" / "checkpoints").symlink_to(tmp_path / "elsewhere")
    before = sorted((tmp_path / "elsewhere").rglob("*"))
    for work in (checkpoints.read_newest, lambda: checkpoints.write(3, {}, {}, {})):
        with pytest.raises(InvalidConfig, match="checkpoints: it is a link"):
            work()
    assert sorted((tmp_path / "elsewhere").rglob("*")) == before


@pytest.mark.parametrize("name", ["result.json", "checkpoints/step-000001/weights.safetensors"])
def test_a_pipe_in_the_folder_of_a_job_holds_nobody_up(tmp_path, name):
    (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
    os.mkfifo(tmp_path / name)
    with pytest.raises(InvalidConfig, match="it is a pipe or a device, where a file of this job belongs"):
        refuse_links(tmp_path)
