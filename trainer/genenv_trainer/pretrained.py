"""All that transformers and peft open: no other module calls their loaders, so no folder is read unchecked."""

import itertools
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, PreTrainedModel, PreTrainedTokenizerBase

from genenv_trainer.errors import InvalidArtifact, is_out_of_memory
from genenv_trainer.model_files import check_adapter, check_model, check_tokenizer
from genenv_trainer.stored_objects import is_stored

if TYPE_CHECKING:  # peft takes a second to import, which full models do without
    from peft import PeftConfig, PeftModel


def load_model(path: Path, dtype: torch.dtype) -> PreTrainedModel:
    """from_pretrained that refuses a folder which lacks some of the weights, and owns those of a stored
    one. Raises InvalidArtifact."""
    check_model(path)
    try:
        model, info = AutoModelForCausalLM.from_pretrained(
            path,
            dtype=dtype,
            attn_implementation="sdpa",
            local_files_only=True,
            output_loading_info=True,
            # A folder holds data: neither pickles nor modules of its own are run.
            use_safetensors=True,
            trust_remote_code=False,
        )
    except Exception as error:  # a torn or foreign folder makes the libraries raise anything
        if is_out_of_memory(error):
            raise
        raise InvalidArtifact(
            f"{path}: not a loadable Hugging Face causal language model: {error}"
        ) from error
    wrong = sorted(map(str, [*info["missing_keys"], *info["mismatched_keys"]]))
    if wrong:
        raise InvalidArtifact(
            f"{path}: weights missing or of another shape: {', '.join(wrong[:5])}; the folder is not whole"
        )
    if is_stored(path):
        # They are mapped from the file, which was checked: a later change of it must neither alter them nor
        # crash their reader.
        for tensor in itertools.chain(model.parameters(), model.buffers()):
            tensor.data = tensor.data.clone()
    return model


def load_tokenizer(folder: Path) -> PreTrainedTokenizerBase:
    """Raises InvalidArtifact for a folder that names files elsewhere."""
    check_tokenizer(folder)
    return AutoTokenizer.from_pretrained(folder, local_files_only=True, trust_remote_code=False)


def load_trainable_adapter(base: torch.nn.Module, folder: Path) -> "PeftModel":
    """`base`, which is in the memory of the processor, with the adapter of `folder`. Raises InvalidArtifact,
    also if the adapter lacks weights."""
    from peft import PeftModel

    check_adapter(folder)
    try:
        model = PeftModel.from_pretrained(base, folder, is_trainable=True, torch_device="cpu")
        # from_pretrained only warns of weights that the folder lacks; loading them again names them.
        options = {"is_trainable": True, "torch_device": "cpu"}
        missing = model.load_adapter(str(folder), model.active_adapter, **options).missing_keys
    except Exception as error:  # a torn or foreign folder makes the libraries raise anything
        if is_out_of_memory(error):
            raise
        raise InvalidArtifact(f"{folder}: not a loadable peft adapter: {error}") from error
    refuse_missing(folder, missing)
    return model


def adapter_settings(folder: Path) -> "PeftConfig":
    """Raises InvalidArtifact."""
    from peft import PeftConfig

    check_adapter(folder)
    return PeftConfig.from_pretrained(str(folder))


def add_adapter(model: "PeftModel", folder: Path, name: str) -> None:
    """Load the adapter of `folder` as one more of `model`. Raises InvalidArtifact, also if the adapter lacks
    weights."""
    check_adapter(folder)
    device = str(model.device)  # peft would take a GPU that is there, also if the model is not on it
    try:
        missing = model.load_adapter(str(folder), name, is_trainable=False, torch_device=device).missing_keys
    except Exception as error:  # a torn or foreign folder makes the libraries raise anything
        if is_out_of_memory(error):
            raise
        raise InvalidArtifact(f"{folder}: not a loadable peft adapter: {error}") from error
    refuse_missing(folder, missing)


def refuse_missing(folder: Path, weights: list[str]) -> None:
    """Raises InvalidArtifact if there are any."""
    if weights:
        raise InvalidArtifact(
            f"{folder}: weights missing: {', '.join(sorted(weights)[:5])}; the folder is not whole"
        )
