"""Loads the models of the store: Hugging Face folders, and peft adapters over a base that they share."""

import json
from dataclasses import dataclass, field
from pathlib import Path

import torch
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from genenv_trainer.errors import InvalidArtifact
from genenv_trainer.onednn_linear import reordered_bytes, use_onednn_where_frozen
from genenv_trainer.plain_files import read_plain_file
from genenv_trainer.pretrained import adapter_settings, add_adapter, load_model
from genenv_trainer.serving.footprint import Footprint, draw_limit, memory_of, weight_bytes
from genenv_trainer.serving.limits import context_length
from genenv_trainer.serving.merging import TRAINED_IN, MergedAdapter
from genenv_trainer.serving.structure import CompiledStructure, Structure, StructureCompiler
from genenv_trainer.stored_objects import is_inside

MAX_ENTRY_BYTES = 10_000


@dataclass
class LoadedModel:
    """A model ready to sample from; `adapter` is the one to activate on `model`, None for a full model."""

    name: str
    model: PreTrainedModel
    tokenizer: PreTrainedTokenizerBase
    adapter: str | None
    structures: StructureCompiler = field(default_factory=StructureCompiler)
    token_texts: dict[int, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        config, generation = self.model.config, self.model.generation_config
        ends = generation.eos_token_id if generation.eos_token_id is not None else config.eos_token_id
        ends = set(ends if isinstance(ends, list) else [ends]) | {self.tokenizer.eos_token_id}
        self.end_ids = sorted(ends - {None})
        self.max_length = context_length(getattr(config, "max_position_embeddings", None))
        self.vocabulary: int = config.vocab_size
        weights = weight_bytes(self.model)
        # An adapter that is merged has the sum with its base beside the base.
        is_merged = self.adapter is not None and self.model.dtype == TRAINED_IN
        copies = weights if is_merged else reordered_bytes(self.model)
        limit = draw_limit(memory_of(self.model.device), weights + copies)
        self.footprint = Footprint.of(config, self.model.dtype.itemsize, limit)

    def compile(self, structure: Structure) -> CompiledStructure:
        """What answers of this model are held to. Raises a 400 for a structure that it cannot be done with."""
        return self.structures.compile(structure, self.tokenizer, self.vocabulary, self.end_ids)

    def token_text(self, token_id: int) -> str:
        """One token alone as text, special tokens by name."""
        if token_id not in self.token_texts:
            self.token_texts[token_id] = self.tokenizer.decode([token_id], clean_up_tokenization_spaces=False)
        return self.token_texts[token_id]


@dataclass(frozen=True)
class Placement:
    """Where models are, and in which numbers. The bits of answers are those of a placement."""

    device: str = "cpu"
    precision: torch.dtype = torch.float32


class AdapterHost:
    """Base models with the adapters loaded over them: one base in memory for all of its adapters, and one sum
    of its weights with those of the active adapter."""

    def __init__(self, placement: Placement) -> None:
        self.placement = placement
        self.bases: dict[Path, PreTrainedModel] = {}
        self.merged: dict[PreTrainedModel, MergedAdapter] = {}
        self.count = 0

    def load(self, folder: Path, base: Path) -> tuple[PreTrainedModel, str]:
        """The base with the adapter of `folder` on it, and the adapter's name there. Raises
        InvalidArtifact for one that lacks weights."""
        from peft import PeftModelForCausalLM  # a second of imports that full models do without

        config = adapter_settings(folder)
        config.inference_mode = True
        adapter = f"adapter{self.count}"
        self.count += 1
        if base in self.bases:
            self.merged[self.bases[base]].restore()
            self.bases[base].add_adapter(adapter, config)
        else:
            self.bases[base] = PeftModelForCausalLM(load_base(base, self.placement), config, adapter)
            self.merged[self.bases[base]] = MergedAdapter(self.bases[base])
        model = self.bases[base]
        try:
            add_adapter(model, folder, adapter)
        except Exception:
            self.drop(model, adapter)
            raise
        return model.eval(), adapter

    def activate(self, model: PreTrainedModel, adapter: str) -> None:
        """The model samples with this one of its adapters."""
        self.merged[model].activate(adapter)

    def drop(self, model: PreTrainedModel, adapter: str) -> None:
        """Removes an adapter, and its base when it was the last one there."""
        self.merged[model].restore()
        if len(model.peft_config) > 1:
            model.delete_adapter(adapter)
        else:
            del self.merged[model]
            self.bases = {base: kept for base, kept in self.bases.items() if kept is not model}


def load_full(folder: Path, placement: Placement) -> PreTrainedModel:
    """A model without adapters."""
    model = _load(folder, placement)
    use_onednn_where_frozen(model)
    return model


def load_base(folder: Path, placement: Placement) -> PreTrainedModel:
    """A model under adapters. The layers that these change have products of the sums."""
    model = _load(folder, placement)
    use_onednn_where_frozen(model.get_output_embeddings())
    return model


def _load(folder: Path, placement: Placement) -> PreTrainedModel:
    return load_model(folder, placement.precision).to(placement.device).eval().requires_grad_(False)


def read_entry(entry: Path, store: Path) -> tuple[Path, Path]:
    """Folders of the model and of its tokenizer that served/<name>.json names, relative to the store.
    InvalidArtifact for one that leaves the store, where nothing vouches for its weights."""
    fields = json.loads(read_plain_file(entry, limit=MAX_ENTRY_BYTES))
    folder = in_store(fields["path"], entry, store)
    return folder, in_store(fields["tokenizer"], entry, store) if fields.get("tokenizer") else folder


def in_store(path: str, entry: Path, store: Path) -> Path:
    folder = store / path
    if not (is_inside(path) and folder.resolve().is_relative_to(store.resolve())):
        raise InvalidArtifact(f"{entry}: the path leaves the store; expected objects/<aa>/<sha256>/")
    return folder
