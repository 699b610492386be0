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


def capture_random_state(with_devices: bool = True) -> dict:
    """The random state of torch as JSON: {"cpu": base64, "cuda": [base64, ...]}; `cuda` is empty before
    CUDA is used, and without devices."""
    cuda = torch.cuda.get_rng_state_all() if with_devices and torch.cuda.is_initialized() else []
    return {"cpu": _encode(torch.get_rng_state()), "cuda": [_encode(state) for state in cuda]}


def restore_random_state(state: dict) -> None:
    torch.set_rng_state(_decode(state["cpu"]))
    if state["cuda"] and torch.cuda.is_initialized():
        torch.cuda.set_rng_state_all([_decode(item) for item in state["cuda"]])


def _encode(state: torch.Tensor) -> str:
    return base64.b64encode(state.numpy().tobytes()).decode("ascii")


def _decode(text: str) -> torch.Tensor:
    return torch.frombuffer(bytearray(base64.b64decode(text)), dtype=torch.uint8)
