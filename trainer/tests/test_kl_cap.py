"""Above max_kl a step only pulls back; a leap above twice that is undone."""

import pytest
from job_folders import digests, read, sequences, work_folder


def test_far_policy_is_pulled_back(launcher, model, reference, tmp_path):
    settings = {"max_kl": 1e-4, "kl_pull_back": 0.5, "kl_estimator": "exact", "learning_rate": 0.003}
    folder = work_folder(tmp_path / "work", "rwr", sequences(1), model, settings, reference=reference)
    kl = read(launcher.run(folder), "result.json")["kl"]
    assert kl["rule"] == "pull_back" and 1e-4 < kl["after"] < kl["before"]


@pytest.mark.parametrize("kl_estimator", ["k3", "exact"])
def test_leap_is_undone(launcher, policy, model, tmp_path, kl_estimator):
    settings = {"max_kl": 0.05, "kl_estimator": kl_estimator, "learning_rate": 1.0}
    state = str(policy / "output/trainer-state")
    folder = work_folder(
        tmp_path / "work", "rwr", sequences(3), model, settings, reference=model, trainer_state=state
    )
    result = read(launcher.run(folder), "result.json")
    assert (result["kl"]["rule"], result["skipped"], result["steps_done"]) == ("restored", "kl_cap", 0)
    assert result["kl"]["after"] == result["kl"]["before"] == pytest.approx(0, abs=1e-6)
    assert result["steps_log"][0]["undone_kl"] > 0.1 and len(result["steps_log"]) == 1
    assert digests(folder, "output") == digests(policy, "output")


def test_inside_the_cap_nothing_changes(launcher, model, tmp_path):
    free = launcher.run(work_folder(tmp_path / "free", "rwr", sequences(2), model))
    capped = launcher.run(
        work_folder(tmp_path / "capped", "rwr", sequences(2), model, {"max_kl": 100}, reference=model)
    )
    assert digests(free, "output") == digests(capped, "output")
    kl = read(capped, "result.json")["kl"]
    assert kl["rule"] == "none" and kl["before"] == pytest.approx(0, abs=1e-6) and kl["after"] > 1e-4
