"""What a folder of weights names stays in it: nothing elsewhere is read, copied or asked for."""

import ast
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from job_folders import ADAPTER, sequences, work_folder
from safetensors.torch import load_file
from test_stored_objects import put_folder

import genenv_trainer
from genenv_trainer.adapters import attach_adapter, base_path
from genenv_trainer.errors import InvalidArtifact
from genenv_trainer.job_config import load_job
from genenv_trainer.models import load_policy
from genenv_trainer.pretrained import load_model, load_tokenizer

SECRET = "DB_PASSWORD=hunter2\n"


@pytest.fixture
def folder(model, tmp_path) -> Path:
    return Path(shutil.copytree(model["path"], tmp_path / "models" / "model"))


@pytest.fixture
def secret(tmp_path) -> Path:
    file = tmp_path / "elsewhere" / "secret"
    file.parent.mkdir()
    file.write_text(SECRET)
    return file


@pytest.fixture
def models(tmp_path, monkeypatch) -> Path:
    """The one folder in which the operator permits models."""
    monkeypatch.setenv("GENENV_MODELS", str(tmp_path / "models"))
    return tmp_path / "models"


@pytest.fixture(scope="module")
def adapted(launcher, model, tmp_path_factory) -> Path:
    work = work_folder(tmp_path_factory.mktemp("adapted") / "work", "grpo", sequences(1), model, adapter=ADAPTER)
    return launcher.run(work) / "output" / "checkpoint"


def change_settings(file: Path, **fields) -> None:
    settings = json.loads(file.read_text()) if file.exists() else {}
    file.write_text(json.dumps(settings | fields))


def shard(folder: Path, target: str) -> None:
    """The model in one shard, which its index says is `target`."""
    weights = load_file(folder / "model.safetensors")
    (folder / "model.safetensors").rename(folder / "shard.safetensors")
    shards = {"metadata": {"total_size": 1}, "weight_map": dict.fromkeys(weights, target)}
    (folder / "model.safetensors.index.json").write_text(json.dumps(shards))


def test_one_module_alone_opens_folders():
    """So that no caller can forget the checks."""
    package = Path(genenv_trainer.__file__).parent
    callers = {
        file.name
        for file in package.rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.Attribute) and node.attr in ("from_pretrained", "load_adapter")
    }
    assert callers == {"pretrained.py"}


def test_shards_in_the_folder_are_read(folder, model):
    shard(folder, "shard.safetensors")
    expected = load_file(f"{model['path']}/model.safetensors")
    got = load_model(folder, torch.float32).state_dict()
    assert all(torch.equal(got[name], value) for name, value in expected.items())


@pytest.mark.parametrize(
    "target", ["{elsewhere}", "../elsewhere/weights.safetensors", "missing.safetensors", "x.bin", 5]
)
def test_shards_elsewhere_are_not_read(folder, tmp_path, target):
    (tmp_path / "models" / "elsewhere").mkdir()
    weights = tmp_path / "models" / "elsewhere" / "weights.safetensors"
    shutil.copyfile(folder / "model.safetensors", weights)
    torch.save(load_file(weights), folder / "x.bin")
    shard(folder, target.format(elsewhere=weights) if isinstance(target, str) else target)
    with pytest.raises(InvalidArtifact, match="names what is no safetensors file of the folder"):
        load_model(folder, torch.float32)


def test_settings_name_no_other_index(folder):
    shard(folder, "shard.safetensors")
    (folder / "model.safetensors.index.json").rename(folder / "odd.safetensors.index.json")
    change_settings(folder / "config.json", transformers_weights="odd.safetensors.index.json")
    with pytest.raises(InvalidArtifact, match="transformers_weights"):
        load_model(folder, torch.float32)


def test_a_base_is_no_adapter_that_leads_on(folder, tmp_path, adapted):
    shutil.copytree(adapted, folder, dirs_exist_ok=True)
    with pytest.raises(InvalidArtifact, match="an adapter, where a model"):
        load_model(folder, torch.float32)


@pytest.mark.parametrize("name", ["config.json", "model.safetensors.index.json", "tokenizer_config.json", "odd"])
def test_a_pipe_does_not_hold_up_its_reader(folder, name):
    (folder / name).unlink(missing_ok=True)
    os.mkfifo(folder / name)
    for load in (lambda: load_model(folder, torch.float32), lambda: load_tokenizer(folder)):
        with pytest.raises(InvalidArtifact, match="it is no file|cannot be read"):
            load()


def test_links_stay_where_the_operator_has_models(folder, models, secret):
    """As those of the cache of Hugging Face do, from snapshots to blobs."""
    (models / "blobs").mkdir()
    for name in ("model.safetensors", "config.json", "tokenizer.json"):
        (folder / name).rename(models / "blobs" / name)
        (folder / name).symlink_to(f"../blobs/{name}")
    load_model(folder, torch.float32)
    load_tokenizer(folder)
    (folder / "merges.txt").symlink_to(secret)
    for load in (lambda: load_model(folder, torch.float32), lambda: load_tokenizer(folder)):
        with pytest.raises(InvalidArtifact, match="a link that leaves its folder"):
            load()


@pytest.mark.parametrize("field", ["vocab", "merges", "vocab_file", "tokenizer_file", "init_inputs"])
@pytest.mark.parametrize("name", ["tokenizer_config.json", "special_tokens_map.json"])
def test_a_tokenizer_names_no_file(folder, secret, name, field):
    change_settings(folder / name, **{field: str(secret)})
    with pytest.raises(InvalidArtifact, match=f"{field} names a file") as raised:
        load_tokenizer(folder)
    assert str(secret) not in str(raised.value)


def test_a_tokenizer_is_not_made_from_a_file_elsewhere(tmp_path, secret):
    (tmp_path / "config.json").write_text('{"model_type": "bert"}')
    change_settings(tmp_path / "tokenizer_config.json", tokenizer_class="BertTokenizer", vocab=str(secret))
    with pytest.raises(InvalidArtifact, match="there is no tokenizer.json"):
        load_tokenizer(tmp_path)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("peft_type", "XLORA"),
        ("peft_type", "PROMPT_TUNING"),
        ("task_type", "SEQ_CLS"),
        ("target_modules", "(([a-z_]|\\.)+){2,30}!"),
        ("target_modules", ["(a+)+$"]),
        ("exclude_modules", ".*"),
        ("rank_pattern", {"(a+)+$": 1}),
        ("init_lora_weights", "corda"),
        ("corda_config", {"cache_file": "x"}),
        ("megatron_config", {"a": 1}),
        ("layer_replication", [[0, 9999]]),
    ],
)
def test_an_adapter_is_lora_over_modules_that_it_names(folder, adapted, tmp_path, field, value):
    adapter = Path(shutil.copytree(adapted, tmp_path / "adapter"))
    change_settings(adapter / "adapter_config.json", **{field: value})
    with pytest.raises(InvalidArtifact, match=f"{field} has a value that is not read"):
        attach_adapter(load_model(folder, torch.float32), adapter, None)


def over(base: Path | str, adapted: Path, folder: Path) -> Path:
    """A copy of an adapter that names another base, and has no tokenizer."""
    shutil.copytree(adapted, folder)
    change_settings(folder / "adapter_config.json", base_model_name_or_path=str(base))
    for file in folder.glob("tokenizer*"):
        file.unlink()
    return folder


def test_a_base_lies_in_the_store_or_where_the_operator_has_models(folder, models, adapted, tmp_path, monkeypatch):
    stored = put_folder(tmp_path / "store", folder)
    elsewhere = Path(shutil.copytree(folder, tmp_path / "elsewhere"))
    (models / "link").symlink_to(elsewhere)
    bases = {"stored": stored, "permitted": folder, "elsewhere": elsewhere, "link": models / "link"}
    bases["store"] = put_folder(tmp_path / "another", folder)
    copies = {name: over(base, adapted, tmp_path / "adapters" / name) for name, base in bases.items()}
    stores = {name: put_folder(tmp_path / "store", copy) for name, copy in copies.items()}
    assert base_path(stores["stored"]) == stored
    assert base_path(stores["permitted"]) == folder
    for name in ("elsewhere", "link", "store"):
        with pytest.raises(InvalidArtifact, match="neither an object of the same store") as raised:
            base_path(stores[name])
        assert str(bases[name]) not in str(raised.value)
    monkeypatch.setenv("GENENV_ENGINE_TINY", str(elsewhere))
    assert base_path(stores["elsewhere"]) == elsewhere


def test_a_link_of_a_base_is_not_copied_into_the_checkpoint(folder, models, adapted, tmp_path, secret):
    adapter = over(folder, adapted, tmp_path / "adapter")
    job = work_folder(tmp_path / "work", "grpo", sequences(1), {"path": str(adapter)})
    policy = load_policy(load_job(job / "job.json"), torch.device("cpu"))
    (folder / "vocab.txt").write_text("a\n")
    (folder / "merges.txt").symlink_to(folder / "vocab.txt")
    policy.save(tmp_path / "checkpoint")
    assert (tmp_path / "checkpoint" / "merges.txt").read_text() == "a\n"
    (folder / "merges.txt").unlink()
    (folder / "merges.txt").symlink_to(secret)
    with pytest.raises(InvalidArtifact, match="a link that leaves its folder"):
        policy.save(tmp_path / "second")
    written = [file.read_bytes() for file in (tmp_path / "second").iterdir()]
    assert not any(SECRET.encode() in content for content in written)


def test_the_commands_ask_no_server_for_models(tmp_path):
    """An adapter may name a repository, which its library would ask for."""
    code = f"""if True:
        import sys
        from genenv_trainer.__main__ import main
        sys.argv = ["genenv_trainer", "serve", "--store", {str(tmp_path)!r}, "--host", "0.0.0.0"]
        assert main() == 2  # no token
        import huggingface_hub
        print(huggingface_hub.constants.HF_HUB_OFFLINE)
    """
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GENENV_POLICY")}
    run = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=300,
        cwd=Path(__file__).parents[1],
        env=environment | {"HF_HUB_OFFLINE": "0"},
    )
    assert run.stdout == "True\n", run.stderr
