"""Models that set-up installs, named `engine:NAME` in what is stored: the folder of this machine is in its
environment."""

import os
from pathlib import Path

from genenv_trainer.errors import InvalidConfig

PREFIX = "engine:"


def _variable(name: str) -> str:
    return f"GENENV_ENGINE_{name.upper()}"


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
        name = variable.removeprefix("GENENV_ENGINE_")
        if name != variable and value == folder:
            return PREFIX + name.lower()
    return folder
