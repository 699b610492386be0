"""Step checkpoints: everything a job needs to go on, written whole or not at all."""

import hashlib
import json
import os
import re
import shutil
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file

from genenv_trainer.errors import InvalidConfig
from genenv_trainer.work_folder import WorkFolder, fsync_path, fsync_tree, refuse_links

KEPT = 2
"""The newest, and the one before in case the newest is torn."""

FILES = {"weights.safetensors", "optimizer.safetensors", "state.json"}
"""All that a checkpoint's manifest names: whoever writes it can have no file elsewhere read."""


class StepCheckpoints:
    """`checkpoints/step-<n>/` of a work folder; n is the number of steps behind it."""

    def __init__(self, work: WorkFolder, input_hash: str):
        self._work = work
        self._folder = work.path / "checkpoints"
        self._input_hash = input_hash

    def write(
        self, step: int, weights: dict[str, torch.Tensor], optimizer: dict[str, torch.Tensor], state: dict
    ) -> None:
        """Write and fsync under a temporary name, rename, drop what is too old. Raises Superseded, and
        InvalidConfig for a link in the folder or in its place."""
        self._work.check_fence()
        refuse_links(self._folder)
        temporary, final = self._folder / f".step-{step:06d}.tmp", self._folder / f"step-{step:06d}"
        shutil.rmtree(temporary, ignore_errors=True)
        temporary.mkdir(parents=True)
        save_tensors(weights, temporary / "weights.safetensors")
        save_tensors(optimizer, temporary / "optimizer.safetensors")
        (temporary / "state.json").write_text(
            json.dumps(state | {"input_hash": self._input_hash}, sort_keys=True), "utf-8"
        )
        hashes = {path.name: _sha256(path) for path in sorted(temporary.iterdir())}
        (temporary / "manifest.json").write_text(json.dumps({"files": hashes}, sort_keys=True), "utf-8")
        fsync_tree(temporary)
        self._work.check_fence()
        refuse_links(self._folder)
        shutil.rmtree(final, ignore_errors=True)
        os.rename(temporary, final)
        fsync_path(self._folder)
        for old in self._existing()[KEPT:]:
            shutil.rmtree(old)

    def read_newest(self) -> tuple[dict[str, torch.Tensor], dict[str, torch.Tensor], dict] | None:
        """(weights, optimizer, state) of the newest complete checkpoint, or None. Torn ones are named and
        removed.

        Raises InvalidConfig if the checkpoint was made for another input hash, or for a link.
        """
        for folder in self._existing():
            torn = _torn_file(folder)
            if torn is not None:
                print(f"{folder}: {torn}; removed, going on from the one before", flush=True)
                self._work.check_fence()
                shutil.rmtree(folder)
                continue
            state = json.loads((folder / "state.json").read_text("utf-8"))
            if state["input_hash"] != self._input_hash:
                raise InvalidConfig(
                    f"{folder}: input_hash {state['input_hash']} is not job.json's {self._input_hash}; "
                    "use another work folder"
                )
            weights = load_file(folder / "weights.safetensors")
            return weights, load_file(folder / "optimizer.safetensors"), state
        return None

    def _existing(self) -> list[Path]:
        """Newest first, by number. A link would have what is elsewhere removed: a job waits for locks, and
        trains for hours, after the first check of its folder."""
        refuse_links(self._folder)
        if not self._folder.is_dir():
            return []
        found = [path for path in self._folder.iterdir() if re.fullmatch(r"step-\d+", path.name)]
        return sorted(found, key=lambda path: -int(path.name.removeprefix("step-")))


def save_tensors(tensors: dict[str, torch.Tensor], path: Path) -> None:
    """Safetensors file whose bytes depend on names and values only."""
    save_file(
        {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}, path, {"format": "pt"}
    )


def _torn_file(folder: Path) -> str | None:
    """What is wrong with the checkpoint, or None."""
    try:
        files = json.loads((folder / "manifest.json").read_text("utf-8"))["files"]
        if files.keys() != FILES:
            return "its manifest does not name the files of a checkpoint"
        for name, digest in files.items():
            if _sha256(folder / name) != digest:
                return f"{name} is torn (its sha256 is not the manifest's {digest})"
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        return f"torn ({error!r})"
    return None


def _sha256(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
