"""Tensors that may be in parts, one in each process of a job (torch calls them DTensors)."""

import torch


def is_part(tensor: torch.Tensor) -> bool:
    return hasattr(tensor, "full_tensor")


def whole(tensor: torch.Tensor) -> torch.Tensor:
    """All of a tensor that may be in parts. Every process must call it then."""
    return tensor.full_tensor() if is_part(tensor) else tensor


def part_like(parameter: torch.Tensor, tensor: torch.Tensor) -> torch.Tensor:
    """A copy of `tensor` on the device of `parameter`; only this process's part of it if `parameter` is in parts."""
    if not is_part(parameter) or is_part(tensor) or tensor.shape != parameter.shape:
        return tensor.to(parameter.device, copy=True)
    from torch.distributed.tensor import distribute_tensor

    # Without a source, every process takes its part of what it has itself.
    return distribute_tensor(
        tensor.to(parameter.device), parameter.device_mesh, parameter.placements, src_data_rank=None
    )


def gather_whole(tensors: dict[str, torch.Tensor], keep: bool) -> dict[str, torch.Tensor]:
    """The tensors without parts, those that were in parts in the memory of the processor. All processes call it;
    those that do not `keep` get nothing back."""
    kept = {}
    for name, tensor in tensors.items():
        value = whole(tensor).cpu() if is_part(tensor) else tensor
        if keep:
            kept[name] = value
    return kept
