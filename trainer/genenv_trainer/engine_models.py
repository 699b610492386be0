"""Models that set-up installs, named `engine:NAME` in what is stored: the folder of this machine is in its
environment."""

import os
from pathlib import Path

from genenv_trainer.errors import InvalidConfig

PREFIX = "engine:"
VARIABLES = "GENENV_ENGINE_"
"""Begins the names of the variables."""


def _variable(name: str) -> str:
    return f"{VARIABLES}{name.upper()}"


def model_folder(path: str) -> Path:
    """The folder that `path` names. Raises InvalidConfig for an engine whose folder is not known here."""
    if not path.startswith(PREFIX):
        return Path(path)
    name = path.removeprefix(PREFIX)
    folder = os.environ.get(_variable(name))
    if not folder:
        raise InvalidConfig(f"{path}: {_variable(name)} names no folder here; `npm run engines -- {name}`")
    return Path(folder)


def portable_name(folder: str) -> str:
    """`engine:NAME` if this is the folder of an engine, else the folder as it is: equal adapters over it
    have equal bytes on all machines."""
    for variable, value in os.environ.items():
        name = variable.removeprefix(VARIABLES)
        if name != variable and value == folder:
            return PREFIX + name.lower()
    return folder


def engine_folders() -> list[str]:
    """The folders of all engines of this machine."""
    return [value for name, value in os.environ.items() if name.startswith(VARIABLES) and value]
