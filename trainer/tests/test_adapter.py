"""LoRA: only the adapter trains, the policy with its adapter off is the reference, and peft loads what is
left."""

import pytest
import torch
from job_folders import copy_inputs, outcome, read, sequences, work_folder
from safetensors.torch import load_file
from transformers import AutoModelForCausalLM

ADAPTER = {
    "r": 4,
    "alpha": 8,
    "dropout": 0,
    "target_modules": ["v_proj", "q_proj", "up_proj", "o_proj", "k_proj", "down_proj"],
}
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
