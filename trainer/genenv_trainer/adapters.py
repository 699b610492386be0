"""LoRA adapters with peft, which is imported only if there is one."""

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path

import torch

from genenv_trainer.checkpoints import save_tensors
from genenv_trainer.engine_models import model_folder, portable_name
from genenv_trainer.errors import InvalidArtifact, InvalidConfig
from genenv_trainer.job_config import Adapter
from genenv_trainer.model_files import ADAPTER_SETTINGS, ADAPTER_WEIGHTS, read_settings
from genenv_trainer.permitted_folders import VARIABLE, is_permitted_base
from genenv_trainer.pretrained import add_adapter, load_trainable_adapter


def base_path(folder: Path) -> Path | None:
    """Folder of the base model if `folder` is a peft adapter, else None. Raises InvalidArtifact if that cannot be
    read, or names a base that adapters may not be over."""
    settings = read_settings(folder, ADAPTER_SETTINGS)
    if settings is None:
        return None
    try:
        named = model_folder(settings["base_model_name_or_path"])
        base = named if named.is_absolute() else (folder / named).resolve()
        is_permitted = is_permitted_base(base, folder)
    except (OSError, RuntimeError, ValueError, KeyError, TypeError, AttributeError) as error:
        problem = f"no base_model_name_or_path ({type(error).__name__})"
        raise InvalidArtifact(f"{folder / ADAPTER_SETTINGS}: {problem}") from None
    if not is_permitted:
        raise InvalidArtifact(
            f"{folder / ADAPTER_SETTINGS}: its base model is neither an object of the same store nor where models "
            f"may lie; have {VARIABLE} name the base's folder"
        )
    return base


def causal_model(model: torch.nn.Module) -> torch.nn.Module:
    """The model of transformers that a policy is, or that its adapters are in."""
    return model.get_base_model() if hasattr(model, "peft_config") else model


def attach_adapter(base: torch.nn.Module, folder: Path | None, wanted: Adapter | None) -> torch.nn.Module:
    """`base` with the adapter of `folder`, trainable, or with a new one (from torch's random state).

    Raises InvalidConfig if `wanted` differs from what `folder` holds; InvalidArtifact if it does not
    load.
    """
    if folder is None:
        from peft import LoraConfig, get_peft_model

        config = LoraConfig(
            r=wanted.r,
            lora_alpha=wanted.alpha,
            lora_dropout=wanted.dropout,
            target_modules=sorted(wanted.target_modules),
            task_type="CAUSAL_LM",
        )
        try:
            return get_peft_model(base, config)
        except ValueError as error:
            raise InvalidConfig(f"job.json.adapter: {error}") from error
    model = load_trainable_adapter(base, folder)
    held = model.peft_config[TRAINED]
    held.base_model_name_or_path = str(model_folder(held.base_model_name_or_path))
    held_shape = (held.r, held.lora_alpha, sorted(held.target_modules))
    if wanted and (wanted.r, wanted.alpha, sorted(wanted.target_modules)) != held_shape:
        raise InvalidConfig(
            f"job.json.adapter: {wanted!r} differs from the adapter in {folder} "
            f"(r {held.r}, alpha {held.lora_alpha}, target_modules {sorted(held.target_modules)}); "
            "an adapter keeps its shape"
        )
    return model


TRAINED, REFERENCE = "default", "reference"
"""Names of the two adapters of a policy; peft calls the first one so."""


def attach_reference(model: torch.nn.Module, folder: Path) -> None:
    """Load a second, frozen adapter over the base of `model`, which `using_reference` activates. Raises
    InvalidArtifact."""
    add_adapter(model, folder, REFERENCE)


@contextlib.contextmanager
def using_reference(model: torch.nn.Module) -> Iterator[None]:
    """Forward passes of the block are those of the reference: its adapter, or the base if it has none."""
    if REFERENCE not in model.peft_config:
        with model.disable_adapter():
            yield
        return
    model.set_adapter(REFERENCE, inference_mode=True)
    try:
        yield
    finally:
        model.set_adapter(TRAINED)


def save_adapter(model: torch.nn.Module, folder: Path) -> None:
    """Write what PeftModel.from_pretrained reads, with lists sorted and no model card, so equal adapters
    give equal bytes."""
    from peft import get_peft_model_state_dict

    save_tensors(get_peft_model_state_dict(model), folder / ADAPTER_WEIGHTS)
    config = model.peft_config[TRAINED].to_dict() | {"inference_mode": True}
    config["base_model_name_or_path"] = portable_name(config["base_model_name_or_path"])
    text = json.dumps(config, sort_keys=True, indent=2, default=_sorted_or_text)
    (folder / ADAPTER_SETTINGS).write_text(text + "\n", "utf-8")


def _sorted_or_text(value: object) -> object:
    return sorted(value) if isinstance(value, set) else str(value)
