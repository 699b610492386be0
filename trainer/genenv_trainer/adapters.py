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
from genenv_trainer.plain_files import read_plain_file


def base_path(folder: Path) -> Path | None:
    """Folder of the base model if `folder` is a peft adapter, else None. Raises InvalidArtifact if it is
    unreadable."""
    config = folder / "adapter_config.json"
    if not config.exists():
        return None
    try:
        base = model_folder(json.loads(read_plain_file(config, follow=True))["base_model_name_or_path"])
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise InvalidArtifact(f"{config}: no base_model_name_or_path ({error!r})") from error
    return base if base.is_absolute() else (folder / base).resolve()


def check_format(folder: Path) -> None:
    """Raises InvalidArtifact for an adapter whose weights are no safetensors: other formats can hold code."""
    if not (folder / "adapter_model.safetensors").is_file():
        raise InvalidArtifact(
            f"{folder}: there is no adapter_model.safetensors; weights in another format are not read"
        )


def causal_model(model: torch.nn.Module) -> torch.nn.Module:
    """The model of transformers that a policy is, or that its adapters are in."""
    return model.get_base_model() if hasattr(model, "peft_config") else model


def attach_adapter(base: torch.nn.Module, folder: Path | None, wanted: Adapter | None) -> torch.nn.Module:
    """`base` with the adapter of `folder`, trainable, or with a new one (from torch's random state).

    Raises InvalidConfig if `wanted` differs from what `folder` holds; InvalidArtifact if it does not
    load.
    """
    from peft import LoraConfig, PeftModel, get_peft_model

    if folder is None:
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
    check_format(folder)
    try:
        model = PeftModel.from_pretrained(base, folder, is_trainable=True)
    except Exception as error:  # a torn or foreign folder makes the libraries raise anything
        raise InvalidArtifact(f"{folder}: not a loadable peft adapter: {error}") from error
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
    check_format(folder)
    try:
        missing = model.load_adapter(str(folder), REFERENCE, is_trainable=False).missing_keys
    except Exception as error:  # a torn or foreign folder makes the libraries raise anything
        raise InvalidArtifact(f"{folder}: not a loadable peft adapter: {error}") from error
    if missing:
        raise InvalidArtifact(
            f"{folder}: weights missing: {', '.join(sorted(missing)[:5])}; the folder is not whole"
        )


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

    save_tensors(get_peft_model_state_dict(model), folder / "adapter_model.safetensors")
    config = model.peft_config[TRAINED].to_dict() | {"inference_mode": True}
    config["base_model_name_or_path"] = portable_name(config["base_model_name_or_path"])
    text = json.dumps(config, sort_keys=True, indent=2, default=_sorted_or_text)
    (folder / "adapter_config.json").write_text(text + "\n", "utf-8")


def _sorted_or_text(value: object) -> object:
    return sorted(value) if isinstance(value, set) else str(value)
