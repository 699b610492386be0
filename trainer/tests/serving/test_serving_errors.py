"""What is refused, in OpenAI's shape and under the field's name; and what a broken store does."""

import hashlib
import json
import shutil

import pytest
from tiny_models import ADAPTED, AGENT, serve_name

COMPLETION = {"model": AGENT, "prompt": "a", "max_tokens": 2}
CHAT = {"model": AGENT, "messages": [{"role": "user", "content": "a"}], "max_tokens": 2}


def refusal(client, path, body):
    answer = client.post(path, json=body)
    assert set(answer.json()) == {"error"}, answer.text
    error = answer.json()["error"]
    assert set(error) == {"message", "type", "param", "code"}
    return answer.status_code, error


@pytest.mark.parametrize(
    ("param", "value"),
    [
        ("prompt", 3), ("prompt", []), ("prompt", ""), ("prompt", ["a", 5]), ("prompt", [[1], "a"]),
        ("prompt", [1000]), ("prompt", [-1]),
        ("prompt", [[]]), ("prompt", "UPPER"), ("prompt", "a" * 127),
        ("n", 0), ("n", "2"), ("max_tokens", 0), ("max_tokens", 1.5), ("temperature", -1),
        ("temperature", 1e-9), ("temperature", "hot"),
        ("logprobs", 6), ("logprobs", True), ("seed", 2**64), ("stop", ""), ("stop", [1]),
        ("stream", True), ("top_p", 0.9), ("best_of", 2), ("echo", True), ("suffix", "x"), ("top_k", 5),
        ("presence_penalty", 1),
        ("frequency_penalty", 0.5), ("logit_bias", {"1": 5}), ("prompt_logprobs", 1), ("max_token", 5),
    ],
)  # fmt: skip
def test_a_completion_names_its_bad_field(client, param, value):
    status, error = refusal(client, "/v1/completions", COMPLETION | {param: value})
    assert (status, error["param"], error["type"]) == (400, param, "invalid_request_error")
    assert param in error["message"]


@pytest.mark.parametrize(
    ("param", "value"),
    [
        ("messages", []), ("messages", "hi"), ("messages", [{"content": "a"}]),
        ("messages", [{"role": "user", "content": [{"type": "image_url"}]}]),
        ("messages", [{"role": "user", "content": "a" * 200}]), ("top_logprobs", 2), ("tools", [{}]),
        ("response_format", {"type": "json_object"}),
    ],
)  # fmt: skip
def test_a_chat_names_its_bad_field(client, param, value):
    status, error = refusal(client, "/v1/chat/completions", CHAT | {param: value})
    assert (status, error["param"]) == (400, param)


def test_fields_that_ask_for_nothing_are_let_through(client):
    harmless = {
        "user": "u",
        "stream": False,
        "top_p": 1.0,
        "best_of": None,
        "echo": False,
        "presence_penalty": 0,
        "n": None,
        "stop": None,
        "logprobs": None,
    }
    assert client.post("/v1/completions", json=COMPLETION | harmless).status_code == 200
    chat = {
        "tools": None,
        "response_format": {"type": "text"},
        "metadata": {"a": "b"},
        "parallel_tool_calls": True,
        "logprobs": None,
    }
    assert client.post("/v1/chat/completions", json=CHAT | chat).status_code == 200


@pytest.mark.parametrize("name", ["nobody@0001", "../objects/full", "", "a/b"])
def test_a_name_that_is_not_served_is_a_404(client, name):
    for path, body in (
        ("/v1/completions", COMPLETION),
        ("/v1/chat/completions", CHAT),
        ("/tokenize", {"prompt": "a"}),
        ("/detokenize", {"tokens": [1]}),
    ):
        status, error = refusal(client, path, body | {"model": name})
        assert (status, error["code"], error["param"]) == (404, "model_not_found", "model")


def test_what_is_missing_or_no_json_is_said(client):
    assert refusal(client, "/v1/completions", {"model": AGENT})[1]["param"] == "prompt"
    assert refusal(client, "/v1/completions", {"prompt": "a"})[1]["param"] == "model"
    assert refusal(client, "/tokenize", {"model": AGENT})[0] == 400
    torn = client.post("/v1/completions", content=b'{"model": ', headers={"content-type": "application/json"})
    assert (torn.status_code, torn.json()["error"]["code"]) == (400, "invalid_json")
    assert refusal(client, "/v1/nothing", {})[0] == 404


def test_a_broken_model_is_a_500_that_names_it_and_the_rest_goes_on(client, store):
    shutil.copytree(store / "objects" / "full", store / "objects" / "torn")
    weights = store / "objects" / "torn" / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:5000])
    serve_name(store, "torn@1", "objects/torn")
    serve_name(store, "gone@1", "objects/gone")
    (store / "served" / "garbled@1.json").write_text("{")
    for name in ("torn@1", "gone@1", "garbled@1"):
        status, error = refusal(client, "/v1/completions", COMPLETION | {"model": name})
        assert (status, error["code"], error["type"]) == (500, "model_not_loadable", "server_error")
        assert name in error["message"]
    assert client.get("/health").json()["status"] == "ok"
    assert client.post("/v1/completions", json=COMPLETION).status_code == 200


@pytest.mark.parametrize("path", ["objects/full", "objects/" + "d" * 2 + "/" + "d" * 64])
def test_a_version_is_answered_by_its_own_weights_alone(client, store, path):
    name = f"agent@0001-{'c' * 12}"
    serve_name(store, name, path)
    status, error = refusal(client, "/v1/completions", COMPLETION | {"model": name})
    assert (status, error["code"]) == (500, "model_damaged")
    assert "it names other weights than" in error["message"]


@pytest.mark.parametrize("path", ["{store}/objects/full", "objects/../objects/full", "../elsewhere", "/"])
def test_a_model_outside_the_store_is_not_loaded(client, store, path):
    serve_name(store, "outside@1", path.format(store=store))
    status, error = refusal(client, "/v1/completions", COMPLETION | {"model": "outside@1"})
    assert (status, error["code"]) == (500, "model_not_loadable")
    assert "the path leaves the store" in error["message"]


def test_a_damaged_model_is_a_500_that_names_the_file(client, store):
    """A bit of the weights is flipped: the folder loads, but does not match its name."""
    manifest = [
        {
            "bytes": file.stat().st_size,
            "path": file.name,
            "sha256": hashlib.sha256(file.read_bytes()).hexdigest(),
        }
        for file in sorted((store / "objects" / "full").iterdir())
    ]
    text = json.dumps(manifest, separators=(",", ":"))
    name = hashlib.sha256(text.encode()).hexdigest()
    folder = store / "objects" / name[:2] / name
    shutil.copytree(store / "objects" / "full", folder)
    folder.with_name(f"{name}.manifest.json").write_text(text)
    serve_name(store, "whole@1", f"objects/{name[:2]}/{name}/")
    assert client.post("/v1/completions", json=COMPLETION | {"model": "whole@1"}).status_code == 200
    weights = folder / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1] + bytes([weights.read_bytes()[-1] ^ 1]))
    serve_name(store, "damaged@1", f"objects/{name[:2]}/{name}/")
    status, error = refusal(client, "/v1/completions", COMPLETION | {"model": "damaged@1"})
    assert (status, error["code"], error["param"]) == (500, "model_damaged", str(weights))
    assert "'damaged@1' is damaged" in error["message"]


def test_models_lists_what_is_served_and_the_longest_contexts(client):
    listed = client.get("/v1/models").json()
    assert listed["object"] == "list"
    card = {"object": "model", "created": 0, "owned_by": "genenv"}
    for name in (AGENT, ADAPTED):
        assert {"id": name, "max_model_len": 128} | card in listed["data"]


def test_a_model_is_described_alone(client):
    card = client.get(f"/v1/models/{AGENT}").json()
    assert card in client.get("/v1/models").json()["data"]
    assert (card["id"], card["max_model_len"]) == (AGENT, 128)


@pytest.mark.parametrize("name", ["absent@1", "..%2F..%2Fserved", ".hidden"])
def test_a_model_that_is_not_served_is_a_404(client, name):
    response = client.get(f"/v1/models/{name}")
    assert response.status_code == 404


def test_models_lists_a_broken_folder_without_a_context(store, client):
    serve_name(store, "nowhere@1", "objects/nowhere")
    listed = {card["id"]: card["max_model_len"] for card in client.get("/v1/models").json()["data"]}
    assert listed["nowhere@1"] is None


def test_models_lists_an_adapter_over_an_engine_that_is_not_here_without_a_context(store, client):
    folder = store / "objects" / "over-missing-engine"
    shutil.copytree(store / "objects" / "adapter", folder)
    config = json.loads((folder / "adapter_config.json").read_text())
    (folder / "adapter_config.json").write_text(
        json.dumps(config | {"base_model_name_or_path": "engine:missing"})
    )
    serve_name(store, "over-missing-engine@1", "objects/over-missing-engine")
    listed = {card["id"]: card["max_model_len"] for card in client.get("/v1/models").json()["data"]}
    assert listed["over-missing-engine@1"] is None
