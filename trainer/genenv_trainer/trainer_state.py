"""The trainer state that one job leaves to the next: optimizer, schedule position, steps, random state."""

import base64
import json
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file

from genenv_trainer.checkpoints import save_tensors
from genenv_trainer.errors import InvalidArtifact
from genenv_trainer.optimizer import Optimizer


def save_trainer_state(folder: Path, optimizer: dict[str, torch.Tensor], state: dict) -> None:
    """`optimizer` are the whole tensors of the optimizer."""
    folder.mkdir()
    save_tensors(optimizer, folder / "optimizer.safetensors")
    (folder / "state.json").write_text(json.dumps(state, sort_keys=True) + "\n", "utf-8")


def load_trainer_state(folder: Path, optimizer: Optimizer) -> int:
    """Put the state of the job before in place. Returns the optimizer steps done before this job.

    Raises InvalidArtifact if a file is missing or torn, or belongs to another model.
    """
    try:
        state = json.loads((folder / "state.json").read_text("utf-8"))
        tensors = load_file(folder / "optimizer.safetensors")
        optimizer.load_tensors(tensors, str(folder))
        optimizer.position = state["scheduler_position"]
        restore_random_state(state["random_state"])
        return state["step"]
    except (OSError, ValueError, KeyError, SafetensorError) as error:
        raise InvalidArtifact(f"{folder}: not a trainer state ({error!r})") from error


def capture_random_state(device: torch.device | None = None) -> dict:
    """The random state of torch as JSON: {"cpu": base64, "cuda": [base64]}; `cuda` is that of `device`, and
    empty if this is no GPU."""
    cuda = [torch.cuda.get_rng_state(device)] if device is not None and device.type == "cuda" else []
    return {"cpu": _encode(torch.get_rng_state()), "cuda": [_encode(state) for state in cuda]}


def restore_random_state(state: dict) -> None:
    """The inverse. Older versions wrote the states of all GPUs that they saw; the first was the job's."""
    torch.set_rng_state(_decode(state["cpu"]))
    if state["cuda"] and torch.cuda.is_initialized():
        torch.cuda.set_rng_state(_decode(state["cuda"][0]))


def _encode(state: torch.Tensor) -> str:
    return base64.b64encode(state.numpy().tobytes()).decode("ascii")


def _decode(text: str) -> torch.Tensor:
    return torch.frombuffer(bytearray(base64.b64decode(text)), dtype=torch.uint8)
