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
from genenv_trainer.ranks import Ranks
from genenv_trainer.work_folder import WorkFolder, fsync_path, fsync_tree, refuse_links

KEPT = 2
"""The newest, and the one before in case the newest is torn."""

FILES = {"weights.safetensors", "optimizer.safetensors", "state.json"}
"""All that a checkpoint's manifest names: whoever writes it can have no file elsewhere read."""


PART = re.compile(r"shard-\d{5}-model-\d{5}-of-\d{5}\.safetensors")
"""What sharded_checkpoints.py calls the file of a process."""

Tensors = dict[str, torch.Tensor]
Found = tuple[Tensors, Tensors, dict]
"""Weights, optimizer and state of a step checkpoint."""


class StepCheckpoints:
    """`checkpoints/step-<n>/` of a work folder; n is the number of steps behind it."""

    def __init__(self, work: WorkFolder, input_hash: str, ranks: Ranks = Ranks()):
        self._work, self._ranks = work, ranks
        self._folder = work.path / "checkpoints"
        self._input_hash = input_hash

    def write(
        self, step: int, weights: dict[str, torch.Tensor], optimizer: dict[str, torch.Tensor], state: dict
    ) -> None:
        """Write and fsync under a temporary name, rename, drop what is too old. Of several processes the first one
        writes, and each its parts of the weights if they are in parts. Raises Superseded, and InvalidConfig for
        a link in the folder or in its place."""
        temporary, final = self._folder / f".step-{step:06d}.tmp", self._folder / f"step-{step:06d}"
        self._ranks.first(lambda: self._start(temporary))
        if self._ranks.in_lockstep:
            from genenv_trainer.sharded_checkpoints import save_parts

            save_parts(temporary, weights, optimizer)
            self._ranks.agree(lambda: fsync_tree(temporary))
            self._ranks.first(lambda: self._finish(temporary, final, state))
        else:
            self._ranks.first(lambda: self._write_whole(temporary, final, (weights, optimizer, state)))

    def _start(self, temporary: Path) -> None:
        self._work.check_fence()
        refuse_links(self._folder)
        shutil.rmtree(temporary, ignore_errors=True)
        temporary.mkdir(parents=True)

    def _write_whole(self, temporary: Path, final: Path, written: Found) -> None:
        weights, optimizer, state = written
        save_tensors(weights, temporary / "weights.safetensors")
        save_tensors(optimizer, temporary / "optimizer.safetensors")
        self._finish(temporary, final, state)

    def _finish(self, temporary: Path, final: Path, state: dict) -> None:
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

    def read_newest(self, parameters: Tensors | None = None) -> Found | None:
        """(weights, optimizer, state) of the newest complete checkpoint, or None. Torn ones are named and
        removed. What was written in parts is read in the parts that `parameters` have.

        Raises InvalidConfig if the checkpoint was made for another input hash, or for a link.
        """
        name = self._ranks.first(self._newest)
        return None if name is None else self._ranks.agree(lambda: self._read(name, parameters or {}))

    def _newest(self) -> str | None:
        """Name of the newest complete checkpoint."""
        for folder in self._existing():
            torn = _torn_file(folder)
            if torn is not None:
                print(f"{folder}: {torn}; removed, going on from the one before", flush=True)
                self._work.check_fence()
                shutil.rmtree(folder)
                continue
            return folder.name
        return None

    def _read(self, name: str, parameters: Tensors) -> Found:
        folder = self._folder / name
        state = json.loads((folder / "state.json").read_text("utf-8"))
        if state["input_hash"] != self._input_hash:
            raise InvalidConfig(
                f"{folder}: input_hash {state['input_hash']} is not job.json's {self._input_hash}; "
                "use another work folder"
            )
        if not (folder / "weights.safetensors").exists():
            from genenv_trainer.sharded_checkpoints import load_parts

            return *load_parts(folder, parameters), state
        weights = load_file(folder / "weights.safetensors")
        return weights, load_file(folder / "optimizer.safetensors"), state

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
        if files.keys() != FILES and not _are_parts(files.keys() - {"state.json"}):
            return "its manifest does not name the files of a checkpoint"
        for name, digest in files.items():
            if _sha256(folder / name) != digest:
                return f"{name} is torn (its sha256 is not the manifest's {digest})"
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        return f"torn ({error!r})"
    return None


def _are_parts(names: set[str]) -> bool:
    """Whether the files are those of processes with a part of the weights each."""
    return bool(names) and all(PART.fullmatch(name) for name in names)


def _sha256(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
