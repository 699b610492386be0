"""What the owner of a store may put in the place of a file: nothing of it holds the policy server up."""

import json
import os
import threading
from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from test_stored_objects import put_folder
from tiny_models import AGENT, save_model, serve_name

from genenv_trainer.errors import InvalidArtifact
from genenv_trainer.model_files import MAX_SETTINGS
from genenv_trainer.serving.errors import ApiError
from genenv_trainer.serving.limits import MAX_NAME_LENGTH
from genenv_trainer.serving.loaded_model import MAX_ENTRY_BYTES, Placement, read_entry
from genenv_trainer.serving.registry import Registry
from genenv_trainer.serving.server import create_app
from genenv_trainer.stored_objects import Damaged, check_stored


def answer_of(work):
    """What the work returns or raises; fails if it does not end."""
    answers = []

    def run():
        try:
            answers.append(work())
        except Exception as error:
            answers.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(10)
    assert answers, "it waits"
    return answers[0]


@pytest.fixture
def registry(store):
    return Registry(store, capacity=1)


def entry_of(store: Path, name: str, content) -> None:
    (store / "served" / f"{name}.json").write_text(json.dumps(content))


def test_a_pipe_in_the_place_of_an_entry_or_of_settings_has_no_length(registry, store, tmp_path):
    os.mkfifo(store / "served" / "pipe.json")
    folder = store / "folder-with-a-pipe"
    folder.mkdir()
    os.mkfifo(folder / "config.json")
    entry_of(store, "settings", {"path": folder.name})
    try:
        assert answer_of(lambda: registry.max_length("pipe")) is None
        assert answer_of(lambda: registry.max_length("settings")) is None
        assert answer_of(lambda: registry.max_length(AGENT)) > 0
    finally:
        (store / "served" / "pipe.json").unlink()
        (store / "served" / "settings.json").unlink()


@pytest.mark.parametrize("content", [[], {"path": 5}, "[" * 100_000])
def test_an_entry_of_another_shape_has_no_length(registry, store, content):
    file = store / "served" / "odd.json"
    file.write_text(content if isinstance(content, str) else json.dumps(content))
    try:
        assert registry.max_length("odd") is None
    finally:
        file.unlink()


LENGTHS = ["NaN", "-1", "0", "2048.5", "2147483648", '"9"', "true", "[" * 900 + "]" * 900]


@pytest.mark.parametrize("length", LENGTHS)
def test_only_a_length_is_one(registry, store, length):
    folder = store / "odd-length"
    folder.mkdir(exist_ok=True)
    (folder / "config.json").write_text(f'{{"max_position_embeddings": {length}}}')
    entry_of(store, "odd", {"path": folder.name})
    try:
        assert registry.max_length("odd") is None
        (folder / "config.json").write_text('{"max_position_embeddings": 2147483647}')
        assert registry.max_length("odd") == 2147483647
    finally:
        (store / "served" / "odd.json").unlink()


def test_settings_beyond_their_size_are_not_read_for_a_list(registry, store):
    folder = store / "large"
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps({"max_position_embeddings": 5, "more": "a" * MAX_SETTINGS}))
    entry_of(store, "large", {"path": folder.name})
    entry_of(store, "large-entry", {"path": "objects/full", "more": "a" * MAX_ENTRY_BYTES})
    try:
        assert [registry.max_length(name) for name in ("large", "large-entry")] == [None, None]
    finally:
        for name in ("large", "large-entry"):
            (store / "served" / f"{name}.json").unlink()


def test_the_list_has_names_that_can_be_asked_for(tmp_path, monkeypatch):
    served = tmp_path / "served"
    served.mkdir()
    names = [AGENT, "b", "c" * MAX_NAME_LENGTH, "a b", "c" * (MAX_NAME_LENGTH + 1), ".hidden", "n\u00e4me"]
    for name in [*(os.fsencode(name) for name in names), b"\xff"]:
        Path(os.fsdecode(os.fsencode(served) + b"/" + name + b".json")).write_text("{}")
    app = create_app(tmp_path, 1, Placement())
    answer = TestClient(app, base_url="http://127.0.0.1").get("/v1/models")
    assert [card["id"] for card in answer.json()["data"]] == names[:3]
    monkeypatch.setattr("genenv_trainer.serving.registry.MAX_NAMES", 2)
    assert Registry(tmp_path, 1).names() == names[:2]


def test_a_policy_of_a_run_has_its_own_tokenizer(tmp_path):
    save_model(tmp_path / "model", seed=0)
    folder = put_folder(tmp_path, tmp_path / "model")
    name = f"agent@0001-{folder.name[:12]}"
    registry = Registry(tmp_path, capacity=1)
    serve_name(tmp_path, name, str(folder.relative_to(tmp_path)))
    assert registry.get(name).name == name
    entry_of(tmp_path, name, {"path": str(folder.relative_to(tmp_path)), "tokenizer": "model"})
    with pytest.raises(ApiError, match="it names a tokenizer") as raised:
        Registry(tmp_path, capacity=1).get(name)
    assert (raised.value.status, raised.value.code) == (500, "model_damaged")


def test_a_link_that_leaves_the_store_is_no_model(registry, store, tmp_path):
    (tmp_path / "config.json").write_text('{"max_position_embeddings": 4711}')
    (store / "elsewhere").symlink_to(tmp_path)
    entry_of(store, "elsewhere", {"path": "elsewhere"})
    try:
        assert registry.max_length("elsewhere") is None
        with pytest.raises(InvalidArtifact, match="leaves the store"):
            read_entry(store / "served" / "elsewhere.json", store)
    finally:
        (store / "served" / "elsewhere.json").unlink()
        (store / "elsewhere").unlink()


@pytest.mark.parametrize("make", [os.mkfifo, lambda file: file.symlink_to("/dev/zero")])
def test_a_manifest_that_is_no_file_is_damage(tmp_path, make):
    folder = tmp_path / "objects" / "aa" / ("a" * 64)
    folder.mkdir(parents=True)
    make(folder.with_name(f"{folder.name}.manifest.json"))
    answer = answer_of(lambda: check_stored(folder))
    assert isinstance(answer, Damaged)
    assert "a link, a pipe" in str(answer)
