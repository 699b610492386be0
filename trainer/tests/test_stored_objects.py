"""Objects of a store are checked by their hash before they are trained on."""

import hashlib
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from job_folders import change_job, copy_inputs, outcome, read, sequences, work_folder

from genenv_trainer.stored_objects import Damaged, check_stored, folder_hash


def put_folder(store: Path, source: Path) -> Path:
    """A folder as src/store/object-store.ts stores it."""
    files = sorted(
        (file for file in source.rglob("*") if file.is_file()),
        key=lambda file: file.relative_to(source).as_posix(),
    )
    manifest = [
        {
            "bytes": file.stat().st_size,
            "path": file.relative_to(source).as_posix(),
            "sha256": hashlib.sha256(file.read_bytes()).hexdigest(),
        }
        for file in files
    ]
    text = json.dumps(manifest, separators=(",", ":"))
    name = hashlib.sha256(text.encode()).hexdigest()
    assert folder_hash(source) == name
    folder = store / "objects" / name[:2] / name
    folder.parent.mkdir(parents=True, exist_ok=True)
    shutil.copytree(source, folder)
    folder.with_name(f"{name}.manifest.json").write_text(text)
    return folder


def put_file(store: Path, source: Path) -> Path:
    name = hashlib.sha256(source.read_bytes()).hexdigest()
    file = store / "objects" / name[:2] / f"{name}.jsonl"
    file.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, file)
    return file


def flip_bit(file: Path) -> None:
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes(data)


def link(path: Path, target: Path) -> None:
    path.unlink(missing_ok=True)
    path.symlink_to(target)


def test_a_manifest_leads_nowhere_else(tmp_path):
    manifest = json.dumps([{"bytes": 1, "path": "../../../secret", "sha256": "a" * 64}], separators=(",", ":"))
    name = hashlib.sha256(manifest.encode()).hexdigest()
    folder = tmp_path / "objects" / name[:2] / name
    folder.mkdir(parents=True)
    folder.with_name(f"{name}.manifest.json").write_text(manifest)
    with pytest.raises(Damaged, match="it lists what is not a file of the folder"):
        check_stored(folder)


@pytest.fixture
def stored(policy, tmp_path):
    return put_folder(tmp_path / "store", policy / "output" / "checkpoint")


@pytest.mark.parametrize(
    "spoil, words",
    [
        (lambda folder: flip_bit(folder / "model.safetensors"), "model.safetensors: altered or torn"),
        (lambda folder: (folder / "model.safetensors").write_bytes(b"short"), "found 5 bytes"),
        (lambda folder: (folder / "config.json").unlink(), "config.json: missing"),
        (
            lambda folder: (folder / "adapter_config.json").write_text("{}"),
            "adapter_config.json: a file that is not in the manifest",
        ),
        (
            lambda folder: flip_bit(folder.with_name(f"{folder.name}.manifest.json")),
            "the manifest was altered",
        ),
        (lambda folder: folder.with_name(f"{folder.name}.manifest.json").unlink(), "the manifest is missing"),
        (shutil.rmtree, "missing"),
        (lambda folder: link(folder / "config.json", folder / "tokenizer.json"), "config.json: a link"),
        (lambda folder: link(folder / "deep", Path("/etc")), "deep: a link"),
        (lambda folder: link(folder, folder.rename(folder.with_name("elsewhere"))), "a link, where an object"),
    ],
)
def test_damage_is_named(stored, spoil, words):
    check_stored(stored)
    spoil(stored)
    with pytest.raises(Damaged, match=words):
        check_stored(stored)


def test_what_is_not_in_a_store_has_no_hash(policy, tmp_path):
    check_stored(policy / "output" / "checkpoint")
    check_stored(tmp_path / "nowhere")


@pytest.mark.parametrize("part", ["model", "reference", "trainer_state", "batch"])
def test_job_refuses_a_damaged_input(launcher, policy, tmp_path, part):
    store, output = tmp_path / "store", policy / "output"
    model, state = put_folder(store, output / "checkpoint"), put_folder(store, output / "trainer-state")
    reference = put_folder(tmp_path / "other", output / "checkpoint")
    folder = work_folder(
        tmp_path / "work",
        "rwr",
        sequences(1),
        {"path": str(model)},
        {"max_kl": 9.0},
        reference={"path": str(reference)},
        trainer_state=str(state),
    )
    batch = put_file(store, folder / "batch.jsonl")
    change_job(folder, batch=str(batch))
    whole = copy_inputs(folder, tmp_path / "whole")
    file = {
        "model": model / "model.safetensors",
        "reference": reference / "model.safetensors",
        "trainer_state": state / "optimizer.safetensors",
        "batch": batch,
    }[part]
    before = file.read_bytes()
    flip_bit(file)
    launcher.run(folder, expect=1)
    report = read(folder, "exit.json")
    assert (
        report["reason"] == "invalid_artifact"
        and report["file"] == str(file)
        and "altered or torn" in report["message"]
    )
    assert not (folder / "output").exists() and not (folder / "checkpoints").exists()
    file.write_bytes(before)
    assert outcome(launcher.run(folder)) == outcome(launcher.run(whole))


def test_weights_that_are_loaded_outlive_their_file(stored):
    """In a process of its own: weights mapped from a file that is cut off end who reads them."""
    code = """if True:
        import os, sys
        from pathlib import Path
        import torch
        from genenv_trainer.models import load_model
        folder = Path(sys.argv[1])
        model = load_model(folder, torch.float32)
        before = model(torch.tensor([[1, 2]])).logits
        file = folder / "model.safetensors"
        file.write_bytes(file.read_bytes()[:100])
        assert torch.equal(before, model(torch.tensor([[1, 2]])).logits)
        print("as before")
    """
    run = subprocess.run(
        [sys.executable, "-c", code, str(stored)],
        capture_output=True,
        text=True,
        timeout=300,
        cwd=Path(__file__).parents[1],
    )
    assert run.stdout == "as before\n", (run.returncode, run.stderr)
