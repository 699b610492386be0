"""The random state of torch as JSON."""

import base64

import torch


def capture() -> dict:
    """{"cpu": base64, "cuda": [base64, ...]}; `cuda` is empty before CUDA is used."""
    cuda = torch.cuda.get_rng_state_all() if torch.cuda.is_initialized() else []
    return {"cpu": _encode(torch.get_rng_state()), "cuda": [_encode(state) for state in cuda]}


def restore(state: dict) -> None:
    torch.set_rng_state(_decode(state["cpu"]))
    if state["cuda"] and torch.cuda.is_initialized():
        torch.cuda.set_rng_state_all([_decode(item) for item in state["cuda"]])


def _encode(state: torch.Tensor) -> str:
    return base64.b64encode(state.numpy().tobytes()).decode("ascii")


def _decode(text: str) -> torch.Tensor:
    return torch.frombuffer(bytearray(base64.b64decode(text)), dtype=torch.uint8)
