"""Folders of models and adapters are loaded whole, where the model is, or the error says why."""

from pathlib import Path

import peft
import pytest
import torch
from job_folders import ADAPTER, read, sequences, work_folder
from safetensors.torch import load_file, save_file
from test_packing import new_model
from transformers import AutoModelForCausalLM

from genenv_trainer.adapters import attach_adapter, save_adapter
from genenv_trainer.errors import InvalidArtifact, is_out_of_memory
from genenv_trainer.job_config import Adapter
from genenv_trainer.models import load_reference
from genenv_trainer.pretrained import add_adapter, load_model, load_trainable_adapter

CPU = torch.device("cpu")
LACKS_MEMORY = [
    MemoryError(),
    torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB"),
    RuntimeError("CUDA error: out of memory"),
    RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`"),
    RuntimeError("cuDNN error: CUDNN_STATUS_ALLOC_FAILED"),
    RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory"),
    OSError(12, "Cannot allocate memory"),
]


@pytest.fixture(scope="module")
def base(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("base") / "model"
    new_model(1, False).save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def adapter(base, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("adapter") / "adapter"
    folder.mkdir()
    save_adapter(attach_adapter(load_model(base, torch.float32), None, Adapter(**ADAPTER)), folder)
    return folder


@pytest.fixture
def torn(adapter, tmp_path) -> Path:
    """The adapter without one of its weights."""
    (tmp_path / "adapter_config.json").write_text((adapter / "adapter_config.json").read_text())
    tensors = load_file(adapter / "adapter_model.safetensors")
    save_file(dict(sorted(tensors.items())[1:]), tmp_path / "adapter_model.safetensors")
    return tmp_path


@pytest.mark.parametrize("error", LACKS_MEMORY, ids=repr)
def test_lack_of_memory_is_no_damage(base, adapter, monkeypatch, error):
    def fail(*_, **__):
        raise error

    assert is_out_of_memory(error)
    model = load_trainable_adapter(load_model(base, torch.float32), adapter)
    monkeypatch.setattr(AutoModelForCausalLM, "from_pretrained", fail)
    monkeypatch.setattr(peft.PeftModel, "load_adapter", fail)
    for load in (
        lambda: load_model(base, torch.float32),
        lambda: load_trainable_adapter(new_model(1, False), adapter),
        lambda: add_adapter(model, adapter, "second"),
    ):
        with pytest.raises(type(error)) as raised:
            load()
        assert raised.value is error


def test_an_adapter_is_loaded_where_the_model_is_also_on_a_machine_with_a_gpu(base, adapter, monkeypatch):
    def infer_device() -> str:
        raise AssertionError("peft takes the device that it finds")

    monkeypatch.setattr(peft.peft_model, "infer_device", infer_device)
    model = load_trainable_adapter(load_model(base, torch.float32), adapter)
    add_adapter(model, adapter, "second")
    assert {parameter.device for parameter in model.parameters()} == {CPU}


def test_an_adapter_that_lacks_weights_is_refused(base, adapter, torn):
    model = load_trainable_adapter(load_model(base, torch.float32), adapter)
    for load in (
        lambda: load_trainable_adapter(load_model(base, torch.float32), torn),
        lambda: add_adapter(model, torn, "second"),
        lambda: load_reference(torn, torch.float32, CPU),
    ):
        with pytest.raises(InvalidArtifact, match=f"{torn}: weights missing: .*lora_A.*; the folder is not"):
            load()


def test_a_job_does_not_go_on_from_an_adapter_that_lacks_weights(launcher, torn, tmp_path):
    folder = work_folder(tmp_path / "work", "rwr", sequences(1), {"path": str(torn)}, adapter=ADAPTER)
    launcher.run(folder, expect=1)
    report = read(folder, "exit.json")
    assert report["reason"] == "invalid_artifact" and "weights missing" in report["message"]
