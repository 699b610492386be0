"""What a request may ask for, how it may arrive, and that nobody computes for a client that has gone."""

import json
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest
from fastapi.testclient import TestClient
from pydantic import ValidationError
from server_process import ServerProcess
from tiny_models import AGENT

from genenv_trainer.serving import limits
from genenv_trainer.serving.chat import ChatRequest
from genenv_trainer.serving.completions import CompletionRequest, prepare_sampling
from genenv_trainer.serving.limits import (
    MAX_BODY_BYTES,
    MAX_JSON_MARKS,
    MAX_ROWS,
    MAX_TOKENS,
    MAX_TOP_LOGPROBS,
)
from genenv_trainer.serving.loaded_model import LoadedModel, Placement
from genenv_trainer.serving.protocol import HEADER_SECONDS
from genenv_trainer.serving.registry import Registry
from genenv_trainer.serving.sampler import SamplingParams, Unwanted, sample
from genenv_trainer.serving.server import create_app
from genenv_trainer.serving.tokenization import DetokenizeRequest

COMPLETION = {"model": AGENT, "prompt": "a", "max_tokens": 2}


@pytest.fixture(scope="module")
def server(store, tmp_path_factory):
    """A server of its own: these tests fill its queue and its connections."""
    server = ServerProcess(store, tmp_path_factory.mktemp("limits") / "port.json")
    yield server
    server.process.kill()
    server.process.wait()


@pytest.fixture
def lone(server):
    with server.client() as client:
        yield client


def refused(client, path, body):
    started = time.monotonic()
    answer = client.post(path, json=body)
    return answer.status_code, answer.json()["error"], time.monotonic() - started


@pytest.mark.parametrize(
    ("fields", "param", "value", "limit"),
    [
        ({"prompt": ["a"] * 40, "n": 1024, "max_tokens": 100}, "n", 40 * 1024, MAX_ROWS),
        ({"prompt": ["a"] * (MAX_ROWS + 1)}, "n", MAX_ROWS + 1, MAX_ROWS),
        ({"prompt": ["a"] * 4, "n": 1024, "max_tokens": 1000}, "max_tokens", 4_096_000, MAX_TOKENS),
        (
            {"prompt": ["a"] * 2, "n": 1024, "max_tokens": 100, "logprobs": 5},
            "logprobs",
            1_024_000,
            MAX_TOP_LOGPROBS,
        ),
        ({"stop": ["x"] * 65}, "stop", 65, 64),
        ({"stop": "x" * 1001}, "stop", 1001, 1000),
    ],
)
def test_a_request_beyond_its_budget_is_refused_with_field_value_and_limit(
    lone, fields, param, value, limit
):
    status, error, seconds = refused(lone, "/v1/completions", COMPLETION | fields)
    assert (status, error["param"]) == (400, param)
    assert str(value) in error["message"]
    assert str(limit) in error["message"]
    assert seconds < 5


def test_alternatives_beyond_the_budget_of_a_chat_are_refused_under_its_own_field(lone):
    body = {"model": AGENT, "messages": [{"role": "user", "content": "a"}], "n": 1024, "max_tokens": 100}
    fields = {"logprobs": True, "top_logprobs": 20}
    status, error, _ = refused(lone, "/v1/chat/completions", body | fields)
    assert (status, error["param"]) == (400, "top_logprobs")
    assert error["message"].startswith("top_logprobs: 20 alternatives")


def test_the_tokens_of_prompts_count_since_each_row_keeps_them(monkeypatch, store):
    monkeypatch.setattr(limits, "MAX_TOKENS", 100)
    loaded = Registry(store, capacity=1).get(AGENT)
    request = CompletionRequest(model=AGENT, prompt=["a" * 20, "b"], n=3, max_tokens=4)
    with pytest.raises(Exception, match="max_tokens: 6 rows of up to 20 tokens of prompt and 4 to sample"):
        prepare_sampling(request, 1, loaded)


def test_the_largest_request_of_an_experiment_is_far_from_the_limits():
    """Ablations ask 32 prompts, 16 times each; the longest answers, of TravelPlanner, have 4096 tokens."""
    assert 4 * 32 * 16 <= MAX_ROWS
    assert 4 * 16 * 8 * (4096 + 2048) <= MAX_TOKENS


def test_a_long_model_name_is_refused_without_a_path(lone):
    status, error, _ = refused(lone, "/v1/completions", COMPLETION | {"model": "x" * 500})
    assert (status, error["param"]) == (400, "model")
    assert "/" not in error["message"]
    assert len(error["message"]) < 300


@pytest.mark.parametrize("declared", [True, False])
def test_a_body_beyond_the_limit_is_refused_before_it_is_read(lone, declared):
    body = b'{"model": "' + b"a" * MAX_BODY_BYTES + b'"}'
    pieces = (body[start : start + (1 << 16)] for start in range(0, len(body), 1 << 16))
    headers = {"content-type": "application/json"}
    try:
        answer = lone.post("/v1/completions", content=body if declared else pieces, headers=headers)
    except httpx.WriteError:  # the server has closed the connection while the rest was sent
        return
    assert answer.status_code == 413
    assert str(MAX_BODY_BYTES) in answer.json()["error"]["message"]


@pytest.mark.parametrize(
    ("path", "field", "part"),
    [
        ("/v1/completions", "prompt", "[]"),
        ("/v1/completions", "stop", "[]"),
        ("/v1/chat/completions", "messages", "{}"),
        ("/tokenize", "messages", "[]"),
        ("/detokenize", "tokens", '":"'),
    ],
)
def test_small_parts_without_end_are_refused_before_they_are_read(lone, path, field, part):
    """JSON of millions of lists would stand on the event loop, and so would an error for each."""

    def answer(count: int) -> tuple[int, str]:
        text = f'{{"model": "{AGENT}", "{field}": [{",".join([part] * count)}]}}'
        sent = lone.post(path, content=text, headers={"content-type": "application/json"})
        return sent.status_code, sent.text

    status, text = answer(MAX_JSON_MARKS)
    assert (status, f"{MAX_JSON_MARKS} brackets, braces and colons" in text) == (413, True)
    status, text = answer(MAX_JSON_MARKS // 2)
    assert (status, len(text) < 1000) == (400, True)


@pytest.mark.parametrize(
    ("field", "value"), [("stop", [[]] * 9), ("messages", [[]] * 9), ("tokens", [[]] * 9)]
)
def test_a_list_has_one_error_however_many_parts_are_wrong(field, value):
    """pydantic would make an error for each."""
    kind = DetokenizeRequest if field == "tokens" else ChatRequest
    with pytest.raises(ValidationError) as caught:
        kind.model_validate({"model": AGENT, field: value})
    # Of a choice between text and a list, one more says that it is no text.
    assert len([error for error in caught.value.errors() if field in error["loc"]]) <= 2


@pytest.mark.parametrize("path", ["/v1/completions", "/v1/chat/completions"])
def test_an_answer_is_built_beside_the_event_loop(store, monkeypatch, path):
    threads = set()
    plain = LoadedModel.token_text

    def recorded(loaded, token):
        threads.add(threading.current_thread().name)
        return plain(loaded, token)

    monkeypatch.setattr(LoadedModel, "token_text", recorded)
    body = {"model": AGENT, "max_tokens": 3}
    body |= {"prompt": "a", "logprobs": 2} if path == "/v1/completions" else {
        "messages": [{"role": "user", "content": "a"}],
        "logprobs": True,
        "top_logprobs": 2,
    }
    client = TestClient(create_app(store, 1, Placement()), base_url="http://127.0.0.1")
    assert client.post(path, json=body).status_code == 200
    assert {name.split("_")[0] for name in threads} == {"answers"}


def half_sent(server) -> socket.socket:
    port = json.loads(server.port_file.read_text())["port"]
    connection = socket.create_connection(("127.0.0.1", port))
    connection.settimeout(HEADER_SECONDS * 3)
    return connection


def test_a_request_too_many_is_answered_503(store, monkeypatch):
    monkeypatch.setattr("genenv_trainer.serving.protocol.MAX_REQUESTS", 1)
    held, began = threading.Event(), threading.Event()
    app = create_app(store, 1, Placement())
    with TestClient(app, base_url="http://127.0.0.1") as client, ThreadPoolExecutor(2) as pool:
        app.state.engine.call(AGENT, lambda loaded: (began.set(), held.wait()))
        began.wait(30)
        first = pool.submit(client.post, "/v1/completions", json=COMPLETION)
        while not app.state.engine.waiting:
            time.sleep(0.01)
        second = pool.submit(client.post, "/v1/completions", json=COMPLETION)
        try:
            answer = second.result(timeout=30)
            assert (answer.status_code, answer.json()["error"]["type"]) == (503, "server_error")
            assert client.get("/health").status_code == 200
        finally:
            held.set()
        assert first.result().status_code == 200
        assert client.post("/v1/completions", json=COMPLETION).status_code == 200


def test_half_sent_headers_are_closed(server, lone):
    lone.get("/health")
    waiting = [half_sent(server) for _ in range(50)]
    for connection in waiting:
        connection.sendall(b"POST /v1/completions HTTP/1.1\r\nHost: 127.0.0.1\r\n")
    started = time.monotonic()
    assert [connection.recv(1000) for connection in waiting] == [b""] * 50
    assert time.monotonic() - started >= HEADER_SECONDS / 2


def test_a_half_sent_body_is_answered_and_closed(server, lone):
    lone.get("/health")
    with half_sent(server) as connection:
        connection.sendall(
            b"POST /v1/completions HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
            b"Content-Length: 100\r\n\r\n{"
        )
        assert b"408" in connection.recv(1000)


def test_a_draw_is_stopped_when_its_client_goes(lone, server):
    """4096 rows of 120 tokens take far longer than the request that waits behind them may."""
    body = COMPLETION | {"prompt": ["a"] * 4, "n": 1024, "max_tokens": 120, "temperature": 1.5}
    with server.client() as leaver, pytest.raises(httpx.ReadTimeout):
        leaver.post("/v1/completions", json=body, timeout=1)
    deadline = time.monotonic() + 10
    while (engine := lone.get("/health").json()["engine"])["busy_seconds"] > 0:
        assert time.monotonic() < deadline, engine
        time.sleep(0.1)
    assert lone.post("/v1/completions", json=COMPLETION).status_code == 200


def test_the_sampler_stops_when_no_request_of_its_batch_is_wanted(store):
    loaded = Registry(store, capacity=1).get(AGENT)
    gone = SamplingParams([[5]], 1, 1, 1.0, 50, unwanted=threading.Event())
    gone.unwanted.set()
    kept = SamplingParams([[5]], 1, 2, 1.0, 3, unwanted=threading.Event())
    with pytest.raises(Unwanted):
        sample(loaded.model, loaded.end_ids, [gone])
    assert len(sample(loaded.model, loaded.end_ids, [gone, kept])) == 2


def test_health_says_how_long_the_engine_has_worked_and_fails_after_the_limit(store, monkeypatch):
    app = create_app(store, 1, Placement())
    client = TestClient(app, base_url="http://127.0.0.1")
    assert client.get("/health").json() == {"status": "ok", "engine": {"busy_seconds": 0, "waiting": 0}}
    held, began = threading.Event(), threading.Event()
    app.state.engine.call(AGENT, lambda loaded: (began.set(), held.wait()))
    app.state.engine.call(AGENT, lambda loaded: None)
    began.wait(30)
    busy = client.get("/health")
    assert busy.status_code == 200
    assert busy.json()["engine"]["waiting"] == 1
    monkeypatch.setattr("genenv_trainer.serving.server.STUCK_SECONDS", 0)
    stuck = client.get("/health")
    held.set()
    assert (stuck.status_code, stuck.json()["status"]) == (503, "stuck")
