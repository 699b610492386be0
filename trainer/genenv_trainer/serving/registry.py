"""The models of STORE/served/<name>.json, loaded on demand; the least recently used go."""

import gc
import re
from collections import OrderedDict
from pathlib import Path

import torch

from genenv_trainer.adapters import base_path
from genenv_trainer.model_files import has_tokenizer, read_settings
from genenv_trainer.pretrained import load_tokenizer
from genenv_trainer.serving.errors import ApiError
from genenv_trainer.serving.limits import MAX_NAME_LENGTH, context_length
from genenv_trainer.serving.loaded_model import AdapterHost, LoadedModel, Placement, load_full, read_entry
from genenv_trainer.serving.structure import StructureCompiler
from genenv_trainer.stored_objects import Damaged, check_stored, is_stored

NAME = re.compile(rf"[A-Za-z0-9_@][A-Za-z0-9._@+-]{{0,{MAX_NAME_LENGTH - 1}}}")
MAX_NAMES = 10_000
"""In the list of models: the worker reads lists of 4 MB."""

VERSION = re.compile(r"(?:agent|environment)@\d{4,9}-([0-9a-f]{12})")
"""A policy of a run: its name begins the hash of its weights."""


class Registry:
    """Not thread-safe: `get` belongs to the engine's thread. The others only read files."""

    def __init__(self, store: Path, capacity: int, placement: Placement = Placement()):
        self.store, self.capacity, self.placement = store, capacity, placement
        self.adapter_host = AdapterHost(placement)
        self.structures = StructureCompiler()
        self.models: OrderedDict[str, LoadedModel] = OrderedDict()

    def names(self) -> list[str]:
        """What is served, if its name can be asked for; of too many, the first of the alphabet."""
        stems = (entry.stem for entry in (self.store / "served").glob("*.json"))
        return sorted(stem for stem in stems if NAME.fullmatch(stem))[:MAX_NAMES]

    def require_served(self, name: str) -> Path:
        """The file that names the folder of a served model. 404 for a name that is not served."""
        entry = self.store / "served" / f"{name}.json"
        if not NAME.fullmatch(name) or not entry.is_file():
            message = f"the model {name!r} is not served: there is no {entry.name} in STORE/served"
            raise ApiError(404, message, "model", "model_not_found")
        return entry

    def max_length(self, name: str) -> int | None:
        """Longest context of a served model by its folder, without loading it; None where that does not
        say."""
        try:
            folder, _ = read_entry(self.store / "served" / f"{name}.json", self.store)
            settings = read_settings(base_path(folder) or folder, "config.json")
            return context_length(settings["max_position_embeddings"])
        except Exception:  # requests to the model say what is wrong
            return None

    def get(self, name: str) -> LoadedModel:
        """The model, its weights active. 404 for a name that is not served, 500 for one that is damaged or
        does not load."""
        if name not in self.models:
            entry = self.require_served(name)
            try:
                self.models[name] = self._load(name, entry)
            except Damaged as error:
                raise ApiError(
                    500, f"the model {name!r} is damaged: {error}", error.file, "model_damaged"
                ) from error
            except Exception as error:
                message = f"the model {name!r} does not load: {type(error).__name__}: {error}"
                raise ApiError(500, message, "model", "model_not_loadable") from error
            self._make_room(self.capacity)
        self.models.move_to_end(name)
        loaded = self.models[name]
        if loaded.adapter is not None:
            self.adapter_host.activate(loaded.model, loaded.adapter)
        return loaded

    def _load(self, name: str, entry: Path) -> LoadedModel:
        folder, tokenizer = read_entry(entry, self.store)
        version = VERSION.fullmatch(name)
        if version and not (is_stored(folder) and folder.name.startswith(version[1])):
            raise Damaged(entry, f"it names other weights than {name}")
        if version and tokenizer != folder:
            raise Damaged(entry, f"it names a tokenizer; {name} has its own, under the same hash")
        for part in {folder, tokenizer}:
            check_stored(part)
        base = base_path(folder)
        if base is not None:
            check_stored(base)
        if base not in self.adapter_host.bases:  # else the new model is over weights that are here
            self._make_room(self.capacity - 1)
        if base is None:
            model, adapter = load_full(folder, self.placement), None
        else:
            model, adapter = self.adapter_host.load(folder, base)
        if base is not None and not has_tokenizer(tokenizer):
            tokenizer = base
        return LoadedModel(name, model, load_tokenizer(tokenizer), adapter, self.structures)

    def _make_room(self, count: int) -> None:
        """Evict the least recently used models until at most `count` are left, and free their memory now. A
        request that waits for one of them loads it again."""
        evicted = len(self.models) > count
        while len(self.models) > count:
            self._evict(next(iter(self.models)))
        if evicted:
            gc.collect()  # layers with a product of oneDNN, and models under adapters, refer to themselves
            if torch.device(self.placement.device).type == "cuda":
                torch.cuda.empty_cache()

    def _evict(self, name: str) -> None:
        loaded = self.models.pop(name)
        if loaded.adapter is not None:
            self.adapter_host.drop(loaded.model, loaded.adapter)
