"""The trainer state that one job leaves to the next: optimizer, schedule position, steps, random state."""

import json
from pathlib import Path

from safetensors import SafetensorError
from safetensors.torch import load_file

from genenv_trainer import random_state
from genenv_trainer.checkpoints import save_tensors
from genenv_trainer.errors import InvalidArtifact
from genenv_trainer.optimizer import Optimizer


def save_trainer_state(folder: Path, optimizer: Optimizer, steps_before: int, steps_done: int) -> None:
    folder.mkdir()
    save_tensors(optimizer.tensors(), folder / "optimizer.safetensors")
    state = {
        "format": 1, "step": steps_before + steps_done, "scheduler_position": optimizer.position, "random_state": random_state.capture(),
    }
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
        random_state.restore(state["random_state"])
        return state["step"]
    except (OSError, ValueError, KeyError, SafetensorError) as error:
        raise InvalidArtifact(f"{folder}: not a trainer state ({error!r})") from error
