"""A step whose loss or gradient is not finite is undone and logged; the job continues with the next one."""

import pytest
from job_folders import WITH_DROPOUT, copy_inputs, digests, outcome, read, sequences, texts, work_folder

HUGE = {"grpo": {"advantage": -3e38}, "rwr": {"weight": 3e38}}


def spoiled(kind: str, steps: int, bad: set[int]) -> list[dict]:
    """Records whose loss overflows in the bad steps: finite numbers, all of them."""
    return [record | HUGE[kind] if record["step"] in bad else record for record in sequences(steps)]


@pytest.mark.parametrize("kind", ["grpo", "rwr"])
def test_bad_step_is_undone_and_the_next_is_done(launcher, model, tmp_path, kind):
    """The job ends as one that was never given the bad step."""
    folder = launcher.run(work_folder(tmp_path / "spoiled", kind, spoiled(kind, 3, {1}), model))
    result = read(folder, "result.json")
    assert (result["steps"], result["steps_done"], result["skipped"], result["skipped_steps"]) == (
        3,
        2,
        None,
        {"not_finite": 1},
    )
    assert result["steps_log"][1]["skipped"] == "not_finite" and result["steps_log"][1]["why"].startswith(
        "loss is "
    )
    assert "step 1: loss is" in (folder / "log.txt").read_text()
    good = [record | {"step": min(record["step"], 1)} for record in sequences(3) if record["step"] != 1]
    without = launcher.run(work_folder(tmp_path / "without", kind, good, model))
    assert digests(folder, "output") == digests(without, "output")


def test_no_good_step_keeps_the_weights_and_says_why(launcher, policy, model, tmp_path):
    state = str(policy / "output/trainer-state")
    folder = launcher.run(
        work_folder(tmp_path / "work", "rwr", spoiled("rwr", 2, {0, 1}), model, trainer_state=state)
    )
    result = read(folder, "result.json")
    assert (result["steps_done"], result["skipped"], result["skipped_steps"]) == (
        0,
        "not_finite",
        {"not_finite": 2},
    )
    assert digests(folder, "output") == digests(policy, "output")


def test_random_state_is_that_before_the_step(launcher, tmp_path):
    """Dropout draws in the bad step; killed after it, the job ends with the same bytes."""
    start = launcher.run(work_folder(tmp_path / "start", "supervised", texts(1), WITH_DROPOUT))
    given = {
        "model": {"path": str(start / "output/checkpoint")},
        "trainer_state": str(start / "output/trainer-state"),
    }
    whole = launcher.run(work_folder(tmp_path / "whole", "rwr", spoiled("rwr", 3, {1}), **given))
    good = [record | {"step": min(record["step"], 1)} for record in sequences(3) if record["step"] != 1]
    without = launcher.run(work_folder(tmp_path / "without", "rwr", good, **given))
    assert digests(whole, "output") == digests(without, "output")
    killed = copy_inputs(whole, tmp_path / "killed")
    launcher.run(killed, expect=137, GENENV_TRAINER_FAULT="exit:2")
    assert outcome(launcher.run(killed)) == outcome(whole)


def test_kl_that_is_not_finite_after_the_step_undoes_it(launcher, policy, model, tmp_path):
    settings = {"max_kl": 1.0, "learning_rate": 3e38}
    state = str(policy / "output/trainer-state")
    folder = launcher.run(
        work_folder(
            tmp_path / "work", "rwr", sequences(2), model, settings, reference=model, trainer_state=state
        )
    )
    result = read(folder, "result.json")
    assert (result["skipped"], result["skipped_steps"]) == ("not_finite", {"not_finite": 2}), result
    assert result["steps_log"][0]["why"].startswith("KL is nan")
    assert digests(folder, "output") == digests(policy, "output")
