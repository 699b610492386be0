"""Large frozen layers by oneDNN: the values and gradients of torch's own product."""

import pytest
import torch
from test_packing import new_model

from genenv_trainer import onednn_linear
from genenv_trainer.onednn_linear import FrozenProduct, OneDnnProduct, can_use_onednn, use_onednn_where_frozen

LARGE = {"in_features": 200, "out_features": 500}


def layer(bias: bool = False, **shape) -> torch.nn.Linear:
    torch.manual_seed(3)
    return torch.nn.Linear(**LARGE | shape, bias=bias).requires_grad_(False)


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("rows", [(1,), (7,), (2, 5), (3, 0)])
def test_the_product_and_the_gradient_are_those_of_torch(bias, rows):
    frozen = layer(bias)
    product = FrozenProduct(frozen)
    inputs = torch.randn(*rows, 200)
    expected, got = inputs.clone().requires_grad_(), inputs.clone().requires_grad_()
    torch.testing.assert_close(product(got), frozen(expected))
    weights = torch.randn(*rows, 500)
    (frozen(expected) * weights).sum().backward()
    (product(got) * weights).sum().backward()
    torch.testing.assert_close(got.grad, expected.grad)
    assert got.grad.shape == inputs.shape


def test_rows_that_do_not_lie_side_by_side_are_read_in_their_order():
    frozen = layer()
    inputs = torch.randn(200, 6).T
    torch.testing.assert_close(OneDnnProduct(frozen.weight)(inputs), frozen(inputs))


def test_a_later_change_of_the_weight_does_not_reach_a_product():
    frozen = layer()
    product, inputs = OneDnnProduct(frozen.weight), torch.randn(2, 200)
    before = product(inputs)
    frozen.weight.data.zero_()
    assert torch.equal(product(inputs), before)


def test_small_layers_other_numbers_and_other_kinds_of_layers_are_left_to_torch():
    assert can_use_onednn(layer())
    assert not can_use_onednn(layer(out_features=499))
    assert not can_use_onednn(layer().to(torch.bfloat16))
    assert not can_use_onednn(torch.nn.Embedding(500, 200))


def test_layers_that_train_keep_their_own_product():
    model = torch.nn.Sequential(layer(), torch.nn.Linear(500, 300))
    use_onednn_where_frozen(model)
    assert isinstance(model[0].forward, FrozenProduct)
    assert not isinstance(model[1].forward, FrozenProduct)


def test_an_adapted_model_has_the_values_and_gradients_of_before(monkeypatch):
    monkeypatch.setattr(onednn_linear, "MIN_WEIGHTS", 1)
    ids = torch.tensor([[3, 4, 5, 6, 7]])

    def gradients(model: torch.nn.Module) -> dict[str, torch.Tensor]:
        logits = model(input_ids=ids).logits
        torch.log_softmax(logits, dim=-1)[0, :, 9].sum().backward()
        return {"logits": logits.detach()} | {
            name: p.grad for name, p in model.named_parameters() if p.requires_grad
        }

    expected = gradients(new_model(1, adapted=True))
    model = new_model(1, adapted=True)
    use_onednn_where_frozen(model)
    assert sum(isinstance(m.__dict__.get("forward"), FrozenProduct) for m in model.modules()) == 15
    got = gradients(model)
    assert expected.keys() == got.keys() and len(got) > 1
    for name, value in expected.items():
        torch.testing.assert_close(got[name], value, rtol=1e-4, atol=1e-5)
