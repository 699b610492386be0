"""Adapters in the weights of their base: the same values, whatever was active before."""

import json

import pytest
import torch
from tiny_models import save_model
from transformers import LlamaForCausalLM

from genenv_trainer import onednn_linear
from genenv_trainer.onednn_linear import FrozenProduct, use_onednn_where_frozen
from genenv_trainer.serving.merging import MergedAdapter
from genenv_trainer.serving.registry import Registry

IDS = torch.tensor([[5, 6, 7, 8, 9]])
NAMES = ("plain", "other", "wider")
ADAPTERS = {
    "plain": {"target_modules": ["q_proj", "v_proj"], "r": 4, "lora_alpha": 12},
    "other": {"target_modules": ["q_proj", "v_proj"], "r": 2},
    "wider": {"target_modules": ["q_proj", "up_proj", "down_proj"], "use_rslora": True},
    "dora": {"target_modules": ["q_proj", "up_proj", "down_proj"], "use_dora": True},
    "embeddings": {"target_modules": ["embed_tokens", "q_proj"]},
    "head": {"target_modules": ["lm_head", "q_proj"]},
}
LAYERS = {"plain": 4, "other": 4, "wider": 6, "dora": 0, "embeddings": 2, "head": 2}
"""Of two blocks, how many have a sum. The embeddings are the head's weights too."""


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """A base with tied embeddings, and adapters over it that change what it says."""
    from peft import LoraConfig, get_peft_model

    store = tmp_path_factory.mktemp("merging")
    base = save_model(store / "base", seed=2, scale=1.0)
    base.config.tie_word_embeddings = True
    with torch.no_grad():
        base.get_input_embeddings().weight.normal_()
    base.tie_weights()
    base.save_pretrained(store / "base")
    (store / "served").mkdir()
    for name, config in ADAPTERS.items():
        torch.manual_seed(len(name))
        model = get_peft_model(LlamaForCausalLM.from_pretrained(store / "base"), LoraConfig(**config))
        with torch.no_grad():
            for parameter, weight in model.named_parameters():
                if "lora_B" in parameter or "lora_embedding" in parameter:
                    weight.normal_(std=0.2)
        model.save_pretrained(store / name)
        entry = {"path": name, "tokenizer": "base"}
        (store / "served" / f"{name}.json").write_text(json.dumps(entry))
    return store


@pytest.fixture(params=["torch", "onednn"])
def products(request, monkeypatch):
    """Whose products those of layers are; these are small."""
    if request.param == "onednn":
        monkeypatch.setattr(onednn_linear, "MIN_WEIGHTS", 1)


@pytest.fixture
def registry(store, products):
    return Registry(store, capacity=6)


@torch.inference_mode()
def logits(model) -> torch.Tensor:
    return model(input_ids=IDS).logits


def expected(store, name) -> torch.Tensor:
    from peft import AutoPeftModelForCausalLM

    return logits(AutoPeftModelForCausalLM.from_pretrained(store / name).eval())


@pytest.mark.parametrize("name", ADAPTERS)
def test_a_served_adapter_says_what_peft_makes_of_it(store, registry, name):
    registry.get("other")
    got = logits(registry.get(name).model)
    torch.testing.assert_close(got, expected(store, name), rtol=1e-4, atol=1e-4)
    base = logits(LlamaForCausalLM.from_pretrained(store / "base"))
    assert not torch.allclose(got, base, rtol=1e-2, atol=1e-2)
    modules = registry.get(name).model.modules()
    assert sum(getattr(module, "merged", False) for module in modules) == LAYERS[name]


def test_values_do_not_depend_on_what_was_active_before(store, registry):
    alone = {name: logits(Registry(store, capacity=1).get(name).model) for name in NAMES}
    for name in ("plain", "other", "plain", "dora", "wider", "plain", "head", "other", "wider", "wider"):
        got = logits(registry.get(name).model)
        assert name not in alone or torch.equal(got, alone[name])


def test_the_base_is_what_it_was_once_an_adapter_goes(store, products):
    registry = Registry(store, capacity=2)
    for name in ("plain", "other", "wider", "head", "plain"):
        model = registry.get(name).model
    registry.adapter_host.merged[model].restore()
    original = dict(LlamaForCausalLM.from_pretrained(store / "base").named_parameters())
    for name, parameter in model.get_base_model().named_parameters():
        if "lora" not in name:
            assert torch.equal(parameter, original[name.replace(".base_layer", "")]), name
    layers = [layer for name, layer in model.named_modules() if name.endswith("proj.base_layer")]
    assert len(layers) == 8 and not any("forward" in vars(layer) for layer in layers)


def test_a_head_that_an_adapter_changed_has_its_own_product_again(monkeypatch, tmp_path):
    """Other adapters over the base say the same after it as before it."""
    from peft import LoraConfig, PeftModelForCausalLM

    monkeypatch.setattr(onednn_linear, "MIN_WEIGHTS", 1)
    base = save_model(tmp_path, seed=4).requires_grad_(False)
    use_onednn_where_frozen(base.get_output_embeddings())
    model = PeftModelForCausalLM(base, LoraConfig(**ADAPTERS["head"]), "head").eval()
    model.add_adapter("other", LoraConfig(**ADAPTERS["other"]))
    merged = MergedAdapter(model)
    merged.activate("other")
    before = logits(model)
    merged.activate("head")
    assert sum(getattr(module, "merged", False) for module in model.modules()) == 3
    merged.activate("other")
    assert torch.equal(logits(model), before)
    assert isinstance(vars(model.get_output_embeddings().get_base_layer())["forward"], FrozenProduct)
