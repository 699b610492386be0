"""Requests that take more memory than there is: their parts, their rows, and what the parts may take."""

import threading
from dataclasses import replace

import numpy as np
import pytest
import torch
from tiny_models import ADAPTED, AGENT, serve_name
from transformers import Qwen2Config

from genenv_trainer import onednn_linear
from genenv_trainer.serving import engine as engine_module
from genenv_trainer.serving.engine import Engine
from genenv_trainer.serving.errors import ApiError
from genenv_trainer.serving.footprint import Footprint, draw_limit, memory_of, weight_bytes
from genenv_trainer.serving.parts import parts_that_fit
from genenv_trainer.serving.registry import Registry
from genenv_trainer.serving.sampler import SamplingParams, sample
from genenv_trainer.serving.uniforms import row_keys

GIB = 1 << 30
REQUEST = SamplingParams([[5, 6, 7], [8], [9, 10]], 5, 11, 1.0, 24, top=2)


def with_room_for(footprint: Footprint, rows: int) -> Footprint:
    """So many rows of REQUEST's first prompt fit, and no more."""
    largest = replace(REQUEST, prompts=REQUEST.prompts[:1], n=rows)
    return replace(footprint, limit=footprint.draw_bytes([largest]))


def keys(params: SamplingParams) -> list[int]:
    return row_keys(
        params.seed, len(params.prompts), params.n, params.first_prompt, params.first_sample
    ).tolist()


@pytest.fixture
def loaded(store):
    return Registry(store, capacity=1).get(AGENT)


@pytest.mark.parametrize("rows", [1, 2, 3, 5, 10])
def test_parts_have_the_rows_of_the_request_in_its_order(loaded, rows):
    footprint = with_room_for(loaded.footprint, rows)
    parts = parts_that_fit(REQUEST, footprint)
    assert len(parts) > 1
    assert all(footprint.fits([part]) for part in parts)
    assert [key for part in parts for key in keys(part)] == keys(REQUEST)
    prompts = [prompt for part in parts for prompt in part.prompts for _ in range(part.n)]
    assert prompts == [prompt for prompt in REQUEST.prompts for _ in range(5)]


def test_a_request_that_fits_is_its_only_part(loaded):
    footprint = replace(loaded.footprint, limit=loaded.footprint.draw_bytes([REQUEST]))
    assert parts_that_fit(REQUEST, footprint) == [REQUEST]
    with pytest.raises(ApiError):
        parts_that_fit(REQUEST, replace(footprint, limit=0))


@pytest.mark.parametrize("rows", [1, 3])
def test_a_request_drawn_in_parts_has_the_rows_of_one_draw(store, loaded, monkeypatch, rows):
    [whole] = sample(loaded.model, loaded.end_ids, [REQUEST])
    loaded.footprint = with_room_for(loaded.footprint, rows)
    draws, began = [], []

    def recorded(model, end_ids, batch):
        draws.append(loaded.footprint.draw_bytes(batch))
        began.append(engine.began)
        return sample(model, end_ids, batch)

    monkeypatch.setattr(engine_module, "sample", recorded)
    registry = Registry(store, capacity=1)
    registry.models[AGENT] = loaded
    engine = Engine(registry, threads=1)
    rows_drawn = engine.sample(loaded, REQUEST, shared=False).result(timeout=60)
    assert len(draws) > 1
    assert max(draws) <= loaded.footprint.limit
    # Each part is work of its own to the health check, which takes long work for stuck.
    assert sorted(set(began)) == began
    assert [row.token_ids for row in rows_drawn] == [row.token_ids for row in whole]
    for row, expected in zip(rows_drawn, whole, strict=True):
        np.testing.assert_allclose(row.logprobs, expected.logprobs, atol=1e-4)
        assert len(row.top) == len(row.token_ids)


def test_the_parts_of_a_request_whose_client_goes_are_not_drawn(store, loaded, monkeypatch):
    loaded.footprint = with_room_for(loaded.footprint, 1)
    request, draws = replace(REQUEST, unwanted=threading.Event()), []

    def leave(model, end_ids, batch):
        draws.append(batch)
        rows = sample(model, end_ids, batch)
        request.unwanted.set()
        return rows

    monkeypatch.setattr(engine_module, "sample", leave)
    registry = Registry(store, capacity=1)
    registry.models[AGENT] = loaded
    with pytest.raises(Exception, match="given up at token 1"):
        Engine(registry, threads=1).sample(loaded, request, shared=False).result(timeout=60)
    assert len(draws) == 2


def test_a_row_beyond_the_memory_is_refused_with_what_it_takes(store):
    registry = Registry(store, capacity=1)
    engine, loaded = Engine(registry, threads=1), registry.get(AGENT)
    row = SamplingParams([[5] * 20], 1, 1, 1.0, 30)
    request = replace(row, prompts=[[5], [5] * 20], n=4)
    loaded.footprint = replace(loaded.footprint, limit=loaded.footprint.draw_bytes([row]))
    assert len(engine.sample(loaded, request, shared=False).result(timeout=30)) == 8
    loaded.footprint = replace(loaded.footprint, limit=loaded.footprint.limit - 1)
    refusal = "max_tokens: one completion of 30 tokens after a prompt of 20 takes 0 MiB"
    with pytest.raises(ApiError, match=refusal):
        engine.sample(loaded, request, shared=False)


def test_the_memory_of_a_draw_follows_from_the_model():
    """Qwen2.5-7B in bfloat16 keeps 56 KiB a token: 28 layers, 4 heads of 128 numbers, keys and values."""
    config = Qwen2Config(
        hidden_size=3584,
        intermediate_size=18944,
        num_hidden_layers=28,
        num_attention_heads=28,
        num_key_value_heads=4,
        vocab_size=152_064,
    )
    footprint = Footprint.of(config, 2, limit=0)
    assert footprint.cached == 56 << 10
    params = SamplingParams([[5] * 100, [5]], 8, 1, 1.0, 28)
    without_cache = 200 * (4 * 3584 + 3 * 18944) * 2 + 16 * 152_064 * 24
    assert footprint.draw_bytes([params]) == 16 * 128 * (56 << 10) + without_cache


def test_the_memory_of_a_container_is_its_limit(tmp_path, monkeypatch):
    cpu, group = torch.device("cpu"), tmp_path / "memory.max"
    monkeypatch.setattr("genenv_trainer.serving.footprint.CGROUP_LIMIT", group)
    machine = memory_of(cpu)
    assert machine > 1 << 30
    for text, memory in (("max\n", machine), ("8000000\n", 8_000_000)):
        group.write_text(text)
        assert memory_of(cpu) == memory


def test_a_draw_has_half_of_the_memory_or_what_the_weights_and_a_reserve_leave():
    assert draw_limit(16 * GIB, 3 * GIB) == 8 * GIB
    assert draw_limit(16 * GIB, 7 * GIB) == 8 * GIB
    assert draw_limit(16 * GIB, 9 * GIB) == 6 * GIB
    assert draw_limit(16 * GIB, 17 * GIB) == 0


def test_qwen_of_1_5_billion_draws_32_prompts_8_times_on_24_gigabytes():
    config = Qwen2Config(
        hidden_size=1536,
        intermediate_size=8960,
        num_hidden_layers=28,
        num_attention_heads=12,
        num_key_value_heads=2,
        vocab_size=151_936,
    )
    footprint = Footprint.of(config, 2, draw_limit(24 * GIB, 3 * GIB))
    request = SamplingParams([[5] * 1000] * 32, 8, 1, 1.0, 500)
    assert footprint.draw_bytes([request]) > 12 * GIB
    assert [len(part.prompts) for part in parts_that_fit(request, footprint)] == [16, 16]


def test_the_weights_of_a_model_are_those_of_its_base_whatever_adapters_are_loaded(store):
    registry = Registry(store, capacity=3)
    first = registry.get(ADAPTED)
    weights = weight_bytes(first.model)
    serve_name(store, "second@1", "objects/adapter")
    assert registry.get("second@1").model is first.model
    assert weight_bytes(first.model) == weights == weight_bytes(registry.get(AGENT).model)


@pytest.mark.parametrize(("name", "copies"), [(AGENT, 1), (ADAPTED, 2)])
def test_the_limit_counts_the_sum_of_a_base_and_an_adapter_beside_the_base(store, monkeypatch, name, copies):
    weights = weight_bytes(Registry(store, capacity=1).get(AGENT).model)
    memory = 4 * weights
    monkeypatch.setattr("genenv_trainer.serving.loaded_model.memory_of", lambda device: memory)
    assert Registry(store, capacity=1).get(name).footprint.limit == draw_limit(memory, copies * weights)
    assert draw_limit(memory, weights) > draw_limit(memory, 2 * weights) > 0


def test_the_limit_counts_weights_that_onednn_reorders(store, monkeypatch):
    monkeypatch.setattr(onednn_linear, "MIN_WEIGHTS", 1)
    loaded = Registry(store, capacity=1).get(AGENT)
    linear = [layer for layer in loaded.model.modules() if isinstance(layer, torch.nn.Linear)]
    weights = weight_bytes(loaded.model)
    memory = 4 * weights
    monkeypatch.setattr("genenv_trainer.serving.loaded_model.memory_of", lambda device: memory)
    limit = Registry(store, capacity=1).get(AGENT).footprint.limit
    assert limit == draw_limit(memory, weights + sum(layer.weight.nbytes for layer in linear))
    assert limit < draw_limit(memory, weights)
