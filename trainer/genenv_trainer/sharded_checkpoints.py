"""Step checkpoints of weights in parts: each process writes its own by torch.distributed.checkpoint.

The files are of safetensors, with the place of each part in its header: nothing in them is code, as torch's own
format has it, and any number of processes reads them.
"""

from pathlib import Path

import torch
import torch.distributed.checkpoint as dcp
from torch.distributed.checkpoint.hf_storage import HuggingFaceStorageReader, HuggingFaceStorageWriter

Tensors = dict[str, torch.Tensor]


def save_parts(folder: Path, weights: Tensors, optimizer: Tensors) -> None:
    """Write this process's parts. All processes call it."""
    tensors = {f"weights/{name}": p.detach() for name, p in weights.items()}
    tensors |= {f"optimizer/{name}": at_least_1d(tensor) for name, tensor in optimizer.items()}
    writer = HuggingFaceStorageWriter(str(folder), save_distributed=True)
    dcp.save(tensors, storage_writer=writer)


def load_parts(folder: Path, parameters: Tensors) -> tuple[Tensors, Tensors]:
    """Weights and optimizer of a folder, in parts as `parameters` are. Each process reads by itself."""
    reader = HuggingFaceStorageReader(str(folder))
    tensors: Tensors = {}
    for key, found in reader.read_metadata().state_dict_metadata.items():
        kind, _, name = key.partition("/")
        parameter, _, slot = name.rpartition("/") if kind == "optimizer" else (name, "", "")
        like = parameters[parameter].detach()
        tensors[key] = torch.zeros(found.size) if slot == "step" else torch.zeros_like(like)
    dcp.load(tensors, storage_reader=reader, no_dist=True)
    weights, optimizer = (
        {key.removeprefix(kind): tensor for key, tensor in tensors.items() if key.startswith(kind)}
        for kind in ("weights/", "optimizer/")
    )
    return weights, {
        name: tensor.reshape(()) if name.endswith("/step") else tensor for name, tensor in optimizer.items()
    }


def at_least_1d(tensor: torch.Tensor) -> torch.Tensor:
    """The format has no tensors without dimensions."""
    return tensor.reshape(1) if tensor.ndim == 0 else tensor
