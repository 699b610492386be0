"""Which requests share a batch, and which models stay loaded."""

import json
import shutil
import threading
import weakref
from dataclasses import replace

import pytest
from tiny_models import ADAPTED, AGENT, serve_name

from genenv_trainer import onednn_linear
from genenv_trainer.serving import engine as engine_module
from genenv_trainer.serving import registry as registry_module
from genenv_trainer.serving.engine import Engine
from genenv_trainer.serving.errors import ApiError
from genenv_trainer.serving.registry import Registry
from genenv_trainer.serving.sampler import SamplingParams


@pytest.fixture
def registry(store):
    for copy in range(3):
        serve_name(store, f"copy@{copy}", "objects/full")
    return Registry(store, capacity=2)


@pytest.fixture
def batches(monkeypatch):
    """Seeds of the requests of each batch that is drawn."""
    batches, plain = [], engine_module.sample

    def recorded(model, end_ids, batch):
        batches.append([params.seed for params in batch])
        return plain(model, end_ids, batch)

    monkeypatch.setattr(engine_module, "sample", recorded)
    return batches


def test_unseeded_single_requests_share_a_batch_and_seeded_ones_do_not(registry, batches):
    # Before the engine's thread loads any: transformers loads one model at a time.
    loaded = {model: registry.get(model) for model in (AGENT, "copy@0")}
    engine, held = Engine(registry, threads=1), threading.Event()
    engine.call(AGENT, lambda loaded: held.wait())
    requests = [(AGENT, 1, True), (AGENT, 2, False), ("copy@0", 3, True), (AGENT, 4, True), (AGENT, 5, True)]
    waiting = [
        engine.sample(loaded[model], SamplingParams([[5]], 1, seed, 1.0, 3), shared)
        for model, seed, shared in requests
    ]
    held.set()
    rows = [future.result(timeout=30) for future in waiting]
    assert batches == [[1, 4, 5], [2], [3]]
    assert all(len(row) == 1 and len(row[0].token_ids) <= 3 for row in rows)


def test_requests_share_a_batch_only_while_it_has_room(registry, batches):
    engine, held, loaded = Engine(registry, threads=1), threading.Event(), registry.get(AGENT)
    params = [SamplingParams([[5] * length], 1, seed, 1.0, 3) for seed, length in enumerate((1, 90, 1))]
    loaded.footprint = replace(loaded.footprint, limit=loaded.footprint.draw_bytes(params[:2]) - 1)
    engine.call(AGENT, lambda loaded: held.wait())
    waiting = [engine.sample(loaded, one, shared=True) for one in params]
    held.set()
    assert [len(future.result(timeout=30)) for future in waiting] == [1, 1, 1]
    assert batches == [[0, 2], [1]]


def test_a_failed_request_does_not_end_the_engine(registry):
    engine = Engine(registry, threads=1)
    with pytest.raises(ZeroDivisionError):
        engine.call(AGENT, lambda loaded: 1 / 0).result(timeout=30)
    cancelled = engine.call(AGENT, lambda loaded: None)
    cancelled.cancel()
    assert engine.call(AGENT, lambda loaded: loaded.name).result(timeout=30) == AGENT


def test_the_least_recently_used_model_goes(registry):
    for name in ("copy@0", "copy@1", "copy@0", "copy@2"):
        registry.get(name)
    assert list(registry.models) == ["copy@0", "copy@2"]


def test_a_model_is_gone_before_the_next_one_takes_its_memory(registry, monkeypatch):
    monkeypatch.setattr(onednn_linear, "MIN_WEIGHTS", 1)  # layers with such a product refer to themselves
    loaded, counts, plain = weakref.WeakSet(), [], registry_module.load_full

    def counted(*args):
        counts.append(len(loaded))
        loaded.add(model := plain(*args))
        return model

    monkeypatch.setattr(registry_module, "load_full", counted)
    for name in (AGENT, "copy@0", "copy@1", "copy@2", AGENT):
        registry.get(name)
    assert counts == [0, 1, 1, 1, 1]


def test_a_name_that_cannot_be_served_ends_no_other_model(registry, store):
    for name in ("copy@0", "copy@1"):
        registry.get(name)
    serve_name(store, f"agent@0001-{'b' * 12}", "objects/full")
    for name in ("nobody@1", f"agent@0001-{'b' * 12}"):
        with pytest.raises(ApiError):
            registry.get(name)
    assert list(registry.models) == ["copy@0", "copy@1"]


def test_an_adapter_over_a_base_that_is_here_does_not_load_it_again(store):
    serve_name(store, "second@1", "objects/adapter")
    registry = Registry(store, capacity=1)
    first = registry.get(ADAPTED)
    assert registry.get("second@1").model is first.model
    assert list(registry.models) == ["second@1"]


def test_adapters_share_one_base_which_goes_with_the_last(registry, store):
    serve_name(store, "second@1", "objects/adapter")
    first, second = registry.get(ADAPTED), registry.get("second@1")
    assert first.model is second.model
    assert second.model.active_adapter == second.adapter
    assert registry.get(ADAPTED).model.active_adapter == first.adapter
    registry.get("copy@0")
    assert list(first.model.peft_config) == [first.adapter]
    registry.get("copy@1")
    assert registry.adapter_host.bases == {}


def test_an_adapter_over_an_engine_needs_no_tokenizer_of_its_own(registry, store, monkeypatch):
    """What the trainer stores over a model that is on every machine: the weights of the adapter alone."""
    folder = store / "objects" / "over-engine"
    shutil.copytree(store / "objects" / "adapter", folder)
    for file in folder.glob("tokenizer*"):
        file.unlink()
    config = json.loads((folder / "adapter_config.json").read_text())
    config["base_model_name_or_path"] = "engine:tiny"
    (folder / "adapter_config.json").write_text(json.dumps(config))
    serve_name(store, "over-engine@1", "objects/over-engine")
    monkeypatch.setenv("GENENV_ENGINE_TINY", str(store / "objects" / "full"))
    loaded = registry.get("over-engine@1")
    assert loaded.tokenizer("abc").input_ids == registry.get(ADAPTED).tokenizer("abc").input_ids
    assert loaded.model is registry.get(ADAPTED).model
