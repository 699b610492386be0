"""max_step_kl: a step is halved until the policy after it is near enough to the one before it."""

import pytest
import torch
from job_folders import ADAPTER, alike_sequences, digests, read, sequences, work_folder
from transformers import AutoModelForCausalLM

from genenv_trainer.losses import exact_kl

FREE = {"learning_rate": 0.03}


def weights(folder) -> dict[str, torch.Tensor]:
    path = folder if isinstance(folder, str) else str(folder / "output/checkpoint")
    return AutoModelForCausalLM.from_pretrained(path, dtype=torch.float32).state_dict()


def mean_kl(model: str, other: str, records: list[dict]) -> float:
    """KL(model || other), mean over active tokens, by the definition."""
    policies = [AutoModelForCausalLM.from_pretrained(path, dtype=torch.float32).eval() for path in (model, other)]
    total, tokens = 0.0, 0
    for record in records:
        ids = torch.tensor([record["token_ids"]])
        with torch.no_grad():
            after, before = (
                torch.log_softmax(policy(ids).logits[:, :-1] / record["temperature"], -1)
                for policy in policies
            )
        mask = torch.tensor(record["mask"][1:])
        total += (exact_kl(after, before)[0] * mask).sum().item()
        tokens += int(mask.sum())
    return total / tokens


@pytest.mark.parametrize("kind", ["rwr", "grpo"])
def test_a_long_step_is_halved_until_it_fits(launcher, model, tmp_path, kind):
    rows = sequences(1)
    free = launcher.run(work_folder(tmp_path / "free", kind, rows, model, FREE))
    long = mean_kl(str(free / "output/checkpoint"), model["path"], rows)
    cap = long / 10
    capped = launcher.run(work_folder(tmp_path / "capped", kind, rows, model, FREE | {"max_step_kl": cap}))
    log = read(capped, "result.json")["steps_log"][0]
    short = mean_kl(str(capped / "output/checkpoint"), model["path"], rows)
    assert log["step_kl"] == pytest.approx(short, rel=1e-3) and short <= cap
    share = log["step_share"]
    assert share in [2.0**-halvings for halvings in range(1, 5)]
    before, after, kept = weights(model["path"]), weights(free), weights(capped)
    for name, start in before.items():
        torch.testing.assert_close(kept[name], torch.lerp(start, after[name], share), atol=1e-6, rtol=0)
    # The smallest number of halvings: with one fewer it did not fit.
    assert mean_kl_of_share(tmp_path, model, free, 2 * share, rows) > cap


def mean_kl_of_share(tmp_path, model, free, share, rows) -> float:
    policy = AutoModelForCausalLM.from_pretrained(model["path"], dtype=torch.float32)
    before, after = weights(model["path"]), weights(free)
    policy.load_state_dict({name: torch.lerp(before[name], after[name], share) for name in before})
    policy.save_pretrained(tmp_path / "share")
    return mean_kl(str(tmp_path / "share"), model["path"], rows)


def test_each_step_has_the_cap_for_itself(launcher, model, tmp_path):
    """The distance to the policy that the job began with may be several times the cap."""
    cap, rows = 0.002, sequences(4)
    folder = launcher.run(work_folder(tmp_path / "work", "rwr", rows, model, FREE | {"max_step_kl": cap}))
    result = read(folder, "result.json")
    assert result["steps_done"] == 4 and all(0 < log["step_kl"] <= cap for log in result["steps_log"])
    assert mean_kl(str(folder / "output/checkpoint"), model["path"], rows) > 1.5 * cap
    kls = [log["step_kl"] for log in result["steps_log"]]
    assert result["metrics"]["step_kl"] == pytest.approx(sum(kls) / 4)


def test_a_step_inside_the_cap_is_the_step_without_one(launcher, model, tmp_path):
    free = launcher.run(work_folder(tmp_path / "free", "rwr", sequences(2), model))
    capped = launcher.run(work_folder(tmp_path / "capped", "rwr", sequences(2), model, {"max_step_kl": 100}))
    assert digests(free, "output") == digests(capped, "output")
    result = read(capped, "result.json")
    assert [log["step_share"] for log in result["steps_log"]] == [1, 1]
    assert "step_kl" not in read(free, "result.json")["metrics"]


def test_a_step_of_which_no_share_fits_is_taken_back(launcher, model, tmp_path):
    settings = {"learning_rate": 1e6, "max_step_kl": 1e-9}
    result = read(
        launcher.run(work_folder(tmp_path / "work", "rwr", sequences(1), model, settings)), "result.json"
    )
    assert (result["steps_log"][0]["step_share"], result["metrics"]["step_kl"]) == (0, 0)
    kept, start = weights(tmp_path / "work"), weights(model["path"])
    assert all(torch.equal(kept[name], start[name]) for name in start)


@pytest.mark.parametrize(("precision", "tolerance"), [("float32", 1e-2), ("bfloat16", 0.2)])
@pytest.mark.parametrize("adapter", [None, ADAPTER])
def test_layouts_measure_the_same_step(launcher, model, tmp_path, adapter, precision, tolerance):
    kls, job = [], {"adapter": adapter, "precision": precision}
    for layout in ("padded", "packed"):
        settings = FREE | {"max_step_kl": 0.001, "batch_layout": layout}
        folder = work_folder(tmp_path / layout, "rwr", alike_sequences(2), model, settings, **job)
        logs = read(launcher.run(folder), "result.json")["steps_log"]
        assert all(0 < log["step_kl"] <= 0.001 for log in logs)
        kls.append([log["step_kl"] for log in logs])
    assert kls[0] == pytest.approx(kls[1], rel=tolerance)
