"""What a folder of weights may hold before transformers or peft open it: data that lies in the folder.

Both open what a folder's settings name: shards, vocabularies, base models, modules of Python. So whoever may
write one folder could have a file elsewhere read, and stored again. `pretrained.py` alone calls them, after these
checks.
"""

import json
import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path

from genenv_trainer.errors import InvalidArtifact
from genenv_trainer.permitted_folders import VARIABLE, is_permitted
from genenv_trainer.plain_files import MAX_BYTES, read_plain_file

TOKENIZER_FILES = (
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "added_tokens.json",
    "vocab.json",
    "vocab.txt",
    "merges.txt",
    "tokenizer.model",
    "spiece.model",
    "chat_template.jinja",
    "chat_template.json",
)
ADAPTER_SETTINGS, ADAPTER_WEIGHTS = "adapter_config.json", "adapter_model.safetensors"
MODEL_INDEX = "model.safetensors.index.json"
TEMPLATE_FOLDER = "additional_chat_templates"
"""The one folder below a tokenizer's that is read."""

MAX_SETTINGS = 1_000_000
"""Bytes of the settings of a model or an adapter."""

NAME = re.compile(r"[\w.]+")
"""Of a module: no regular expression, which could take for ever."""

FILES_OF_TOKENIZERS = ("vocab", "merges", "init_inputs", "fast_tokenizer_files")
"""Settings that name files or can; so do those that end in `_file`."""

LISTS_OF_NAMES = ("target_modules", "exclude_modules", "modules_to_save", "layers_pattern", "target_parameters")
FIELDS_BY_NAME = ("rank_pattern", "alpha_pattern")
TEXTS = ("base_model_name_or_path", "revision", "peft_version", "bias", "megatron_core")
NOT_READ = ("auto_mapping", "layers_to_transform", "trainable_token_indices")
"""Settings of an adapter that name nothing which is opened or imported here."""


def has_tokenizer(folder: Path) -> bool:
    return any((folder / name).exists() for name in TOKENIZER_FILES)


def read_settings(folder: Path, name: str, limit: int = MAX_SETTINGS) -> dict | None:
    """The JSON object in a file of a model's folder; None if there is no such file. Raises InvalidArtifact, which
    quotes nothing of it."""
    file = folder / name
    if not os.path.lexists(file):
        return None
    try:
        settings = json.loads(read_plain_file(_real_file(file), limit=limit))
    except (OSError, ValueError, RecursionError) as error:
        raise InvalidArtifact(f"{file}: it cannot be read ({type(error).__name__})") from None
    if not isinstance(settings, dict):
        raise InvalidArtifact(f"{file}: it is no JSON object")
    return settings


def check_model(folder: Path) -> None:
    """Raises InvalidArtifact for a folder of full weights whose settings lead out of it."""
    names = _check_files(folder)
    if ADAPTER_SETTINGS in names:
        raise InvalidArtifact(f"{folder}: an adapter, where a model with all of its weights is needed")
    if "transformers_weights" in (read_settings(folder, "config.json") or {}):
        raise InvalidArtifact(f"{folder}: config.json names its weights (transformers_weights); remove the field")
    index = read_settings(folder, MODEL_INDEX, MAX_BYTES)
    if index is None:
        return
    shards = index.get("weight_map")
    if not isinstance(shards, dict):
        raise InvalidArtifact(f"{folder / MODEL_INDEX}: there is no weight_map")
    for shard in shards.values():
        if not (isinstance(shard, str) and re.fullmatch(r"[^/]+\.safetensors", shard) and shard in names):
            problem = "weight_map names what is no safetensors file of the folder"
            raise InvalidArtifact(f"{folder / MODEL_INDEX}: {problem}")


def check_tokenizer(folder: Path) -> None:
    """Raises InvalidArtifact for a tokenizer without tokenizer.json, which transformers makes from whatever its
    settings name, and for settings that name a file."""
    if "tokenizer.json" not in _check_files(folder):
        raise InvalidArtifact(f"{folder}: there is no tokenizer.json; save the tokenizer in this format")
    for name in ("tokenizer_config.json", "special_tokens_map.json"):
        for field, value in (read_settings(folder, name, MAX_BYTES) or {}).items():
            if value and (field in FILES_OF_TOKENIZERS or field.endswith("_file")):
                raise InvalidArtifact(f"{folder / name}: {field} names a file; remove the field")


def check_adapter(folder: Path) -> None:
    """Raises InvalidArtifact for an adapter that is not LoRA, whose weights are no safetensors (other formats can
    hold code), or whose settings name files, modules of Python or regular expressions."""
    if ADAPTER_WEIGHTS not in _check_files(folder):
        raise InvalidArtifact(f"{folder}: there is no {ADAPTER_WEIGHTS}; weights in another format are not read")
    for field, value in (read_settings(folder, ADAPTER_SETTINGS) or {"peft_type": None}).items():
        if not _is_setting_of_lora(field, value):
            raise InvalidArtifact(
                f"{folder / ADAPTER_SETTINGS}: {field} has a value that is not read; expected LoRA, lists of "
                "names of modules, and no setting that names a file"
            )


def copy_tokenizer(source: Path, target: Path) -> None:
    """Copies the files of a tokenizer. Raises InvalidArtifact for a link to what is neither the folder's nor the
    operator's."""
    for name in TOKENIZER_FILES:
        if (source / name).exists():
            try:
                (target / name).write_bytes(read_plain_file(_real_file(source / name)))
            except OSError as error:
                raise InvalidArtifact(f"{source / name}: it cannot be copied ({type(error).__name__})") from error


def _is_setting_of_lora(field: str, value: object) -> bool:
    match field:
        case "peft_type":
            return value == "LORA"
        case "task_type":
            return value in (None, "CAUSAL_LM")
        case "init_lora_weights":
            return isinstance(value, bool) or value == "gaussian"
        case _ if field in NOT_READ:
            return True
        case _ if field in TEXTS:
            return value is None or isinstance(value, str)
        case _ if field in LISTS_OF_NAMES and isinstance(value, list):
            return all(map(_is_name, value))
        case _ if field in FIELDS_BY_NAME and isinstance(value, dict):
            return all(map(_is_name, value))
    return value is None or isinstance(value, (bool, int, float)) or value in ({}, [])


def _is_name(value: object) -> bool:
    return isinstance(value, str) and NAME.fullmatch(value) is not None


def _check_files(folder: Path) -> set[str]:
    """Names of the files of a folder. Raises InvalidArtifact for what is no file, which could hold up its reader,
    and for a link that leads to what is neither the folder's nor the operator's."""
    return {file.name for file in _files(folder) if _is_file(_real_file(file))}


def _files(folder: Path) -> Iterator[Path]:
    for part in (folder, folder / TEMPLATE_FOLDER):
        try:
            yield from sorted(path for path in part.iterdir() if not path.is_dir())
        except (FileNotFoundError, NotADirectoryError):
            continue


def _real_file(file: Path) -> Path:
    try:
        real = file.resolve()
    except (OSError, RuntimeError):  # links in a circle
        raise InvalidArtifact(f"{file}: a link that leads nowhere") from None
    if file.is_symlink() and not (real.is_relative_to(file.parent.resolve()) or is_permitted(real)):
        raise InvalidArtifact(f"{file}: a link that leaves its folder and those of {VARIABLE}")
    return real


def _is_file(real: Path) -> bool:
    try:
        mode = real.lstat().st_mode
    except FileNotFoundError:
        return False
    if not stat.S_ISREG(mode):
        raise InvalidArtifact(f"{real}: it is no file")
    return True
