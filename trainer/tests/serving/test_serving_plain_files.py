"""What the owner of a store may put in the place of a file: nothing of it holds the policy server up."""

import json
import os
import threading
from pathlib import Path

import pytest
from tiny_models import AGENT

from genenv_trainer.errors import InvalidArtifact
from genenv_trainer.serving.loaded_model import read_entry
from genenv_trainer.serving.registry import Registry
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
