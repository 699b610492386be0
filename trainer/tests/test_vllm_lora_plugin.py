"""infra/engines/vllm-plugins: the same numbers as vLLM's own functions, of which it replaces three."""

import importlib.util
from pathlib import Path

import pytest
import torch

PLUGIN = Path(__file__).parents[2] / "infra/engines/vllm-plugins/genenv_lora_cpu.py"
spec = importlib.util.spec_from_file_location("genenv_lora_cpu", PLUGIN)
plugin = importlib.util.module_from_spec(spec)
spec.loader.exec_module(plugin)

INDICES = [[0, 0, 0, 0, 0], [2, 0, 1, 0, 2], [-1, 1, -1, 1, 0], [-1, -1, -1, -1, -1]]


def expected(inputs, weights, indices):
    """vLLM's einsum over a copy of the weights for each token; tokens of the base model get nothing."""
    outputs = torch.einsum("bi,boi->bo", inputs, weights[indices])
    outputs[indices < 0] = 0
    return outputs


@pytest.fixture(params=INDICES, ids=str)
def case(request):
    generator = torch.Generator().manual_seed(1)
    indices = torch.tensor(request.param)
    inputs = torch.randn(5, 7, generator=generator)
    weights = torch.randn(3, 1, 4, 7, generator=generator)
    return inputs, weights, indices


def test_shrink_scales_and_leaves_padding(case):
    inputs, weights, indices = case
    output = torch.full((5, 6), 9.0)
    plugin.bgmv_shrink(inputs, weights, output, indices, 0.5)
    torch.testing.assert_close(output[:, :4], 0.5 * expected(inputs, weights[:, 0], indices))
    assert (output[:, 4:] == 9).all()


@pytest.mark.parametrize("add_inputs", [True, False])
@pytest.mark.parametrize("width", [3, 4, 6])
def test_expand_fills_the_common_width(case, add_inputs, width):
    inputs, weights, indices = case
    output = torch.full((5, width), 9.0)
    plugin.bgmv_expand(inputs, weights, output, indices, add_inputs)
    common = min(width, 4)
    wanted = expected(inputs, weights[:, 0], indices)[:, :common] + (9 if add_inputs else 0)
    torch.testing.assert_close(output[:, :common], wanted)
    assert (output[:, common:] == 9).all()


@pytest.mark.parametrize("add_inputs", [True, False])
def test_expand_slice_touches_its_slice_alone(case, add_inputs):
    inputs, weights, indices = case
    output = torch.full((5, 9), 9.0)
    plugin.bgmv_expand_slice(inputs, weights, output, indices, 2, 4, add_inputs)
    wanted = expected(inputs, weights[:, 0], indices) + (9 if add_inputs else 0)
    torch.testing.assert_close(output[:, 2:6], wanted)
    assert (output[:, [0, 1, 6, 7, 8]] == 9).all()
