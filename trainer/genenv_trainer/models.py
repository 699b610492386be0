"""Policies: a full Hugging Face folder, a peft adapter folder, or a new model. Loading, tokenizer, saving."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch
import transformers
from transformers import AutoConfig, AutoModelForCausalLM, PreTrainedModel, PreTrainedTokenizerBase
from transformers.conversion_mapping import get_checkpoint_conversion_mapping
from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES

from genenv_trainer import adapters
from genenv_trainer.engine_models import portable_name
from genenv_trainer.errors import InvalidConfig
from genenv_trainer.job_config import JobConfig, Scratch
from genenv_trainer.model_files import copy_tokenizer, has_tokenizer, read_settings
from genenv_trainer.pretrained import load_model, load_tokenizer
from genenv_trainer.tokenizer import character_tokenizer

@dataclass
class Policy:
    """A model to train. `base` is the folder of the model under an adapter. `tokenizer_folder` is copied next
    to the weights; a new model brings its `new_tokenizer`."""

    model: torch.nn.Module
    base: Path | None
    tokenizer_folder: Path | None
    new_tokenizer: PreTrainedTokenizerBase | None

    @property
    def is_adapter(self) -> bool:
        return self.base is not None

    def trainable(self) -> dict[str, torch.nn.Parameter]:
        return {name: p for name, p in self.model.named_parameters() if p.requires_grad}

    def tokenizer(self) -> PreTrainedTokenizerBase:
        return self.new_tokenizer or load_tokenizer(self.tokenizer_folder)

    def save(self, folder: Path, weights: dict[str, torch.Tensor] | None = None) -> None:
        """Write an ordinary Hugging Face (or peft) folder with its tokenizer. Equal weights give equal
        bytes. `weights` are given if the model's own are in parts."""
        folder.mkdir()
        if self.is_adapter:
            adapters.save_adapter(self.model, folder)
        else:
            self.model.save_pretrained(folder, state_dict=weights)
        if self.new_tokenizer is not None:
            self.new_tokenizer.save_pretrained(folder)
        elif not self.is_adapter or portable_name(str(self.base)) == str(self.base):
            # An engine is on every machine, with its tokenizer of some megabytes.
            copy_tokenizer(self.tokenizer_folder, folder)


def load_policy(
    job: JobConfig, device: torch.device, shard: Callable[[torch.nn.Module], None] = lambda model: None
) -> Policy:
    """The model that job.json names, in training mode on `device`. Full weights and adapters train in
    float32; the frozen base of an adapter has job.json's precision. `shard` leaves this process its part of the
    model before that is on the device.

    Raises InvalidConfig or InvalidArtifact.
    """
    if job.model.scratch is not None:
        model, tokenizer = _new_model(job.model.scratch)
        policy = Policy(model, None, None, tokenizer)
    else:
        path = Path(job.model.path)
        base = adapters.base_path(path)
        if base is None and job.adapter is None:
            policy = Policy(load_model(path, torch.float32), None, path, None)
        else:
            frozen = load_model(base or path, getattr(torch, job.precision))
            model = adapters.attach_adapter(frozen, path if base else None, job.adapter)
            policy = Policy(model, base or path, path if has_tokenizer(path) or not base else base, None)
    if job.gradient_checkpointing:
        policy.model.gradient_checkpointing_enable({"use_reentrant": False})
    shard(policy.model)
    policy.model.to(device).train()
    return policy


def load_reference(
    path: Path,
    precision: torch.dtype,
    device: torch.device,
    shard: Callable[[torch.nn.Module], None] = lambda model: None,
) -> torch.nn.Module:
    """A frozen policy (full or adapter folder) in evaluation mode."""
    base = adapters.base_path(path)
    model = load_model(base or path, precision)
    if base is not None:
        model = adapters.attach_adapter(model, path, None)
    model.eval().requires_grad_(False)
    shard(model)
    return model.to(device)


def model_type(model: dict) -> str | None:
    """`model_type` of the architecture that job.json's `model` names, or None if it cannot be told."""
    if model.get("scratch"):
        return model["scratch"]["architecture"].get("model_type")
    path = Path(model["path"])
    return (read_settings(adapters.base_path(path) or path, "config.json") or {}).get("model_type")


def import_architecture(name: str) -> None:
    """Import and cache what transformers does when the first model of this type is made. An unknown one is
    left to the job."""
    if name in MODEL_FOR_CAUSAL_LM_MAPPING_NAMES:
        getattr(transformers, MODEL_FOR_CAUSAL_LM_MAPPING_NAMES[name])
        get_checkpoint_conversion_mapping(name)


def _new_model(scratch: Scratch) -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
    """A randomly initialised model (from torch's current random state) and its character-level tokenizer."""
    tokenizer = character_tokenizer(scratch.vocabulary)
    special = {f"{name}_token_id": getattr(tokenizer, f"{name}_token_id") for name in ("pad", "bos", "eos")}
    try:
        config = AutoConfig.for_model(**{**scratch.architecture, "vocab_size": len(tokenizer), **special})
        model = AutoModelForCausalLM.from_config(config, attn_implementation="sdpa", dtype=torch.float32)
    except (TypeError, ValueError, KeyError) as error:
        raise InvalidConfig(
            f"job.json.model.scratch.architecture: {json.dumps(scratch.architecture)}: {error}"
        ) from error
    return model, tokenizer
