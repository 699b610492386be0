"""LoRA: only the adapter trains, the policy with its adapter off is the reference, and peft loads what is
left."""

import shutil
from pathlib import Path

import pytest
import torch
from job_folders import (
    ADAPTER,
    change_job,
    copy_inputs,
    job_settings,
    outcome,
    read,
    sequences,
    texts,
    work_folder,
)
from safetensors.torch import load_file, save_file
from transformers import AutoModelForCausalLM

from genenv_trainer.batch import micro_batches
from genenv_trainer.forward import Reference, policy_terms
from genenv_trainer.job_config import load_job
from genenv_trainer.models import load_policy, load_reference
from genenv_trainer.records import check_record
from genenv_trainer.setup import prepare_job
from genenv_trainer.work_folder import WorkFolder

SETTINGS = {"kl_coefficient": 0.1, "max_kl": 100}


@pytest.fixture(scope="module")
def adapted(launcher, model, tmp_path_factory):
    folder = tmp_path_factory.mktemp("adapter") / "work"
    return launcher.run(work_folder(folder, "rwr", sequences(2), model, SETTINGS, adapter=ADAPTER))


def test_adapter_off_is_the_reference(adapted):
    kl = read(adapted, "result.json")["kl"]
    assert kl["before"] == pytest.approx(0, abs=1e-6) and kl["after"] > 1e-5


def test_peft_loads_it(adapted, model):
    from peft import AutoPeftModelForCausalLM

    folder = adapted / "output" / "checkpoint"
    assert sorted(path.name for path in folder.iterdir()) == [
        "adapter_config.json",
        "adapter_model.safetensors",
        "tokenizer.json",
        "tokenizer_config.json",
    ]
    loaded = AutoPeftModelForCausalLM.from_pretrained(folder)
    ids = torch.tensor([[3, 4, 5]])
    plain = AutoModelForCausalLM.from_pretrained(model["path"])(ids).logits
    assert not torch.allclose(loaded(ids).logits, plain)
    with loaded.disable_adapter():
        torch.testing.assert_close(loaded(ids).logits, plain)


def test_equal_bytes_after_a_kill(launcher, adapted, tmp_path):
    folder = copy_inputs(adapted, tmp_path / "work")
    launcher.run(folder, expect=137, GENENV_TRAINER_FAULT="exit:1")
    launcher.run(folder)
    assert outcome(folder) == outcome(adapted)
    written = read(folder / "output" / "checkpoint", "adapter_config.json")["target_modules"]
    assert written == sorted(
        ADAPTER["target_modules"]
    ), "peft keeps a set, whose order is that of the process's string hashes"


def test_next_job_goes_on_with_the_adapter(launcher, adapted, tmp_path):
    """Two steps in two jobs equal two steps in one."""
    records = sequences(2)
    parts = [[record | {"step": 0} for record in records if record["step"] == step] for step in (0, 1)]
    model = read(adapted, "job.json")["model"]
    first = launcher.run(work_folder(tmp_path / "one", "rwr", parts[0], model, SETTINGS, adapter=ADAPTER))
    start = {
        "model": {"path": str(first / "output/checkpoint")},
        "trainer_state": str(first / "output/trainer-state"),
    }
    second = launcher.run(
        work_folder(tmp_path / "two", "rwr", parts[1], settings=SETTINGS, adapter=ADAPTER, **start)
    )
    ours, whole = (
        load_file(folder / "output/checkpoint/adapter_model.safetensors") for folder in (second, adapted)
    )
    assert all(torch.equal(ours[name], whole[name]) for name in whole)
    other = work_folder(
        tmp_path / "other", "rwr", parts[1], settings=SETTINGS, adapter=ADAPTER | {"r": 2}, **start
    )
    launcher.run(other, expect=1)
    assert "an adapter keeps its shape" in read(other, "exit.json")["message"]


@pytest.fixture(scope="module")
def cold_started(launcher, model, tmp_path_factory) -> dict:
    """An adapter after supervised training: the initial policy of a run with a warm-up."""
    folder = tmp_path_factory.mktemp("cold") / "work"
    launcher.run(work_folder(folder, "supervised", texts(4), model, adapter=ADAPTER))
    return {"path": str(folder / "output" / "checkpoint")}


@pytest.fixture(scope="module", params=["k3", "exact"])
def trained(request, launcher, cold_started, tmp_path_factory):
    """Two steps from the cold-started adapter, with it as the reference."""
    folder = tmp_path_factory.mktemp("trained") / "work"
    settings = SETTINGS | {"kl_estimator": request.param}
    job = {"adapter": ADAPTER, "reference": cold_started}
    return launcher.run(work_folder(folder, "rwr", sequences(2), cold_started, settings, **job))


def test_the_cold_started_adapter_is_the_reference(trained):
    kl = read(trained, "result.json")["kl"]
    assert kl["before"] == 0, "the policy is its reference until its first step"
    assert kl["after"] > 1e-5


def test_a_second_adapter_measures_what_a_second_model_would(trained, cold_started, tmp_path):
    folder = copy_inputs(trained, tmp_path / "work")
    change_job(folder, model={"path": str(trained / "output" / "checkpoint")})
    job = load_job(folder / "job.json")
    objective = prepare_job(job, WorkFolder(folder, 1), lambda: None)._objective
    base = sum(p.numel() for p in AutoModelForCausalLM.from_pretrained(read_base(cold_started)).parameters())
    adapter = sum(
        tensor.numel() for tensor in load_file(f"{cold_started['path']}/adapter_model.safetensors").values()
    )
    assert sum(p.numel() for p in objective.model.parameters()) == base + 2 * adapter
    policy, device = load_policy(job, torch.device("cpu")).model, torch.device("cpu")
    other = load_reference(Path(cold_started["path"]), torch.float32, device)
    second_model = Reference(other, False, job.settings.kl_estimator, None)
    records = [check_record(record, "record", "rwr", job_settings()) for record in sequences(1, seed=4)]
    (batch,) = micro_batches(records, 1000)
    expected = policy_terms(policy, second_model, 0, batch, None, False, True)
    got = policy_terms(objective.model, objective.reference, 0, batch, None, False, True)
    torch.testing.assert_close(got.kl, expected.kl, rtol=0, atol=0)
    torch.testing.assert_close(got.logprobs, expected.logprobs, rtol=0, atol=0)
    assert expected.kl.sum() > 1e-4
    got.kl.sum().backward()
    trainable = {name for name, p in objective.model.named_parameters() if p.requires_grad}
    with_gradient = {name for name, p in objective.model.named_parameters() if p.grad is not None}
    assert with_gradient == trainable and not any("reference" in name for name in trainable)


def read_base(adapter: dict) -> str:
    return read(Path(adapter["path"]), "adapter_config.json")["base_model_name_or_path"]


def test_equal_bytes_after_a_kill_with_a_reference_adapter(launcher, trained, tmp_path):
    folder = copy_inputs(trained, tmp_path / "work")
    launcher.run(folder, expect=137, GENENV_TRAINER_FAULT="exit:1")
    launcher.run(folder)
    assert outcome(folder) == outcome(trained)
    written = load_file(folder / "output/checkpoint/adapter_model.safetensors")
    assert not any("reference" in name for name in written), "the reference is not part of the policy"


def test_a_torn_reference_adapter_is_named(launcher, trained, cold_started, tmp_path):
    torn = tmp_path / "torn"
    shutil.copytree(cold_started["path"], torn)
    tensors = load_file(torn / "adapter_model.safetensors")
    save_file(dict(list(tensors.items())[1:]), torn / "adapter_model.safetensors")
    folder = copy_inputs(trained, tmp_path / "work")
    change_job(folder, reference={"path": str(torn)})
    launcher.run(folder, expect=1)
    assert f"{torn}: weights missing: " in read(folder, "exit.json")["message"]


def test_the_base_of_an_engine_is_named_without_the_machine(launcher, adapted, model, tmp_path):
    engine = {"GENENV_ENGINE_TINY": model["path"]}
    first = work_folder(tmp_path / "first", "rwr", sequences(2), model, SETTINGS, adapter=ADAPTER)
    launcher.run(first, **engine)
    checkpoint = first / "output" / "checkpoint"
    assert read(checkpoint, "adapter_config.json")["base_model_name_or_path"] == "engine:tiny"
    assert sorted(path.name for path in checkpoint.iterdir()) == [
        "adapter_config.json",
        "adapter_model.safetensors",
    ]
    weights = "output/checkpoint/adapter_model.safetensors"
    assert (first / weights).read_bytes() == (adapted / weights).read_bytes()

    goes_on = {"path": str(checkpoint)}
    second = work_folder(tmp_path / "second", "rwr", sequences(2), goes_on, SETTINGS, adapter=ADAPTER)
    launcher.run(second, **engine)
    config = read(second / "output" / "checkpoint", "adapter_config.json")
    assert config["base_model_name_or_path"] == "engine:tiny"

    unknown = work_folder(tmp_path / "unknown", "rwr", sequences(2), goes_on, SETTINGS, adapter=ADAPTER)
    launcher.run(unknown, expect=1)
    assert "GENENV_ENGINE_TINY" in read(unknown, "exit.json")["message"]
