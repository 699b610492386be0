"""A model of SmolLM2-135M's shape for machines that have none."""

from pathlib import Path

import torch
from genenv_trainer.tokenizer import SPECIAL_TOKENS, character_tokenizer
from transformers import LlamaConfig, LlamaForCausalLM

SMOLLM2 = {
    "hidden_size": 576, "intermediate_size": 1536, "num_hidden_layers": 30, "num_attention_heads": 9, "num_key_value_heads": 3,
    "max_position_embeddings": 8192, "tie_word_embeddings": True, "rope_parameters": {"rope_theta": 100000.0, "rope_type": "default"},
}
"""SmolLM2-135M: 135 million parameters, with the vocabulary of 49,152 that `make_model` adds."""
VOCABULARY = 49_152


def make_model(folder: Path, architecture: dict, vocabulary: int = VOCABULARY) -> None:
    """A randomly initialised Llama with a tokenizer of single characters, from the line feed on."""
    tokenizer = character_tokenizer([chr(ord("\n") + index) for index in range(vocabulary - len(SPECIAL_TOKENS))])
    special = {f"{name}_token_id": getattr(tokenizer, f"{name}_token_id") for name in ("pad", "bos", "eos")}
    torch.manual_seed(0)
    LlamaForCausalLM(LlamaConfig(vocab_size=vocabulary, **architecture, **special)).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
