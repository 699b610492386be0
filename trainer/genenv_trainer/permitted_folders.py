"""Folders of pretrained models, by the environment of whoever runs the workers, as src/config/permitted-folders.ts
has them."""

import os
from pathlib import Path

from genenv_trainer.engine_models import engine_folders
from genenv_trainer.stored_objects import is_stored

VARIABLE = "GENENV_MODELS"


def permitted_folders() -> list[Path]:
    """Real paths of the folders under which models may lie, and of the engines that are models."""
    listed = os.environ.get(VARIABLE)
    if listed is None:
        home = os.environ.get("GENENV_HOME") or ".genenv"
        listed = os.pathsep.join(["/models", f"{home}/models", os.path.expanduser("~/.cache/huggingface")])
    folders = [folder for folder in listed.split(os.pathsep) if folder]
    return [Path(folder).resolve() for folder in [*folders, *engine_folders()]]


def is_permitted(path: Path) -> bool:
    """True for a file or folder that lies, links followed, where the operator permits models."""
    real = path.resolve()
    return any(real.is_relative_to(folder) for folder in permitted_folders())


def is_permitted_base(base: Path, adapter: Path) -> bool:
    """True for a model that an adapter may name: an object of its own store, or what the operator permits."""
    places = [Path(os.path.abspath(path)) for path in (base, adapter)]
    if all(map(is_stored, places)) and len({place.resolve().parents[2] for place in places}) == 1:
        return True
    return is_permitted(base)
