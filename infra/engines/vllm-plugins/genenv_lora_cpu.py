"""A plugin of vLLM: LoRA on processors by one matrix product for each adapter of a batch.

vLLM 0.32 copies an adapter's weights once for every token of a batch (`weights[lora_indices]`), which took
three quarters of the time of a decoding step here; and it reads the last adapter for tokens of the base model,
whose index is -1. These functions replace those of `vllm/lora/ops/torch_ops/lora_ops.py` and take the same
arguments. Shapes: N tokens, I inputs, O outputs, A adapters.
"""

import torch


def products(
    inputs_N_I: torch.Tensor, weights_A_O_I: torch.Tensor, adapters_N: torch.Tensor, dtype: torch.dtype
) -> torch.Tensor:
    """inputs @ weights[adapter].T for each token; 0 for tokens without an adapter (-1). [N, O]."""
    if weights_A_O_I.dim() == 4:
        weights_A_O_I = weights_A_O_I.squeeze(1)
    inputs_N_I = inputs_N_I.to(dtype)
    used = adapters_N.unique().tolist()
    if len(used) == 1 and used[0] >= 0:
        return inputs_N_I @ weights_A_O_I[used[0]].to(dtype).T
    outputs_N_O = inputs_N_I.new_zeros(len(inputs_N_I), weights_A_O_I.shape[1])
    for adapter in used:
        if adapter >= 0:
            rows = adapters_N == adapter
            outputs_N_O[rows] = inputs_N_I[rows] @ weights_A_O_I[adapter].to(dtype).T
    return outputs_N_O


def bgmv_shrink(inputs, lora_b_weights, output_tensor, lora_indices_tensor, scaling=1.0):
    """output = scaling * products."""
    outputs = products(inputs, lora_b_weights, lora_indices_tensor, output_tensor.dtype)
    output_tensor[:, : outputs.shape[1]] = scaling * outputs


def bgmv_expand(inputs, lora_b_weights, output_tensor, lora_indices_tensor, add_inputs=True):
    """output (+)= products, as far as both are wide: padding may differ."""
    outputs = products(inputs, lora_b_weights, lora_indices_tensor, output_tensor.dtype)
    width = min(outputs.shape[1], output_tensor.shape[1])
    _write(output_tensor[:, :width], outputs[:, :width], add_inputs)


def bgmv_expand_slice(
    inputs, lora_b_weights, output_tensor, lora_indices_tensor, slice_offset, slice_size, add_inputs=True
):
    """output[:, slice] (+)= products."""
    outputs = products(inputs, lora_b_weights, lora_indices_tensor, output_tensor.dtype)
    _write(output_tensor[:, slice_offset : slice_offset + slice_size], outputs, add_inputs)


def _write(target, outputs, add_inputs):
    if add_inputs:
        target += outputs
    else:
        target.copy_(outputs)


def register() -> None:
    """Entry point `vllm.general_plugins`, called in each process of the server."""
    from vllm.platforms import current_platform

    if not current_platform.is_cpu():
        return
    from vllm.lora.ops.torch_ops import lora_ops
    from vllm.lora.punica_wrapper import punica_cpu

    for function in (bgmv_shrink, bgmv_expand, bgmv_expand_slice):
        # The sgmv functions of lora_ops call these by their module; punica_cpu has names of its own.
        setattr(lora_ops, function.__name__, function)
        setattr(punica_cpu, function.__name__, function)
