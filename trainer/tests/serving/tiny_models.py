"""Tiny random models in a store, made from scratch: what the server's tests serve."""

import json
from pathlib import Path

import torch
from transformers import LlamaConfig, LlamaForCausalLM

from genenv_trainer.tokenizer import character_tokenizer

AGENT, ADAPTED = "agent@0001-3fa9c1", "agent@0002-77aa02"
CHARACTERS = list("abcdefghijklmnopqrstuvwxyz 0123456789+-*/=?:.\n")


def save_model(folder: Path, seed: int, scale: float = 8.0) -> LlamaForCausalLM:
    """
    A Llama of width 64 and 2 layers with its tokenizer.

    `scale` multiplies the last layer, without which a random model's distribution is all but uniform.
    """
    torch.manual_seed(seed)
    tokenizer = character_tokenizer(CHARACTERS)
    config = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=64,
        intermediate_size=172,
        num_hidden_layers=2,
        num_attention_heads=4,
        max_position_embeddings=128,
        tie_word_embeddings=False,
        bos_token_id=None,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )
    model = LlamaForCausalLM(config).eval()
    with torch.no_grad():
        model.lm_head.weight.mul_(scale)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return model


def save_adapter(folder: Path, base: Path, seed: int) -> None:
    """A LoRA adapter with random weights (peft's own begin at no change) over the base folder."""
    from peft import LoraConfig, get_peft_model

    torch.manual_seed(seed)
    model = get_peft_model(
        LlamaForCausalLM.from_pretrained(base), LoraConfig(r=4, target_modules=["q_proj", "v_proj"])
    )
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if "lora_B" in name:
                weight.normal_(std=0.2)
    model.save_pretrained(folder)
    character_tokenizer(CHARACTERS).save_pretrained(folder)


def serve_name(store: Path, name: str, path: str) -> None:
    (store / "served").mkdir(parents=True, exist_ok=True)
    (store / "served" / f"{name}.json").write_text(json.dumps({"path": path, "tokenizer": None}))
