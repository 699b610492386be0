"""Folders of models hold data: what is in them is not run."""

import json
import shutil
from pathlib import Path

import pytest
import torch
from job_folders import ADAPTER, sequences, work_folder
from safetensors.torch import load_file

from genenv_trainer.adapters import attach_adapter
from genenv_trainer.errors import InvalidArtifact
from genenv_trainer.models import load_model, load_tokenizer


class Payload:
    """A pickle that leaves a file when it is loaded."""

    def __init__(self, target: Path):
        self.target = target

    def __reduce__(self):
        return Path.touch, (self.target,)


@pytest.fixture
def folder(model, tmp_path) -> Path:
    return Path(shutil.copytree(model["path"], tmp_path / "model"))


@pytest.mark.parametrize("hostile", [False, True])
def test_pickled_weights_are_not_read(folder, tmp_path, hostile):
    weights = load_file(folder / "model.safetensors")
    (folder / "model.safetensors").unlink()
    torch.save({"payload": Payload(tmp_path / "ran")} if hostile else weights, folder / "pytorch_model.bin")
    with pytest.raises(InvalidArtifact, match="not a loadable Hugging Face causal language model"):
        load_model(folder, torch.float32)
    assert not (tmp_path / "ran").exists()


def test_modules_of_a_folder_are_not_imported(folder, tmp_path):
    config = json.loads((folder / "config.json").read_text())
    names = {"AutoConfig": "remote.Config", "AutoModelForCausalLM": "remote.Model"}
    (folder / "config.json").write_text(json.dumps(config | {"model_type": "remote", "auto_map": names}))
    (folder / "remote.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\n")
    with pytest.raises(InvalidArtifact):
        load_model(folder, torch.float32)
    assert not (tmp_path / "ran").exists()


def test_modules_of_a_tokenizer_are_not_imported(folder, tmp_path):
    config = json.loads((folder / "tokenizer_config.json").read_text())
    changed = {"tokenizer_class": "Remote", "auto_map": {"AutoTokenizer": ["remote.Remote", None]}}
    (folder / "tokenizer_config.json").write_text(json.dumps(config | changed))
    (folder / "remote.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\n")
    try:
        load_tokenizer(folder)
    except Exception as error:  # it may also load the tokenizer that it knows
        print(error)
    assert not (tmp_path / "ran").exists()


def test_a_pickled_adapter_is_not_read(launcher, model, tmp_path):
    work = work_folder(tmp_path / "work", "grpo", sequences(2), model, adapter=ADAPTER)
    adapter = launcher.run(work) / "output" / "checkpoint"
    torch.save(load_file(adapter / "adapter_model.safetensors"), adapter / "adapter_model.bin")
    (adapter / "adapter_model.safetensors").unlink()
    base = load_model(Path(model["path"]), torch.float32)
    with pytest.raises(InvalidArtifact, match="there is no adapter_model.safetensors"):
        attach_adapter(base, adapter, None)
