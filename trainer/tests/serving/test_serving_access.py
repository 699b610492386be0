"""Who is answered: requests with the token, to this server's own names."""

import http.client
import json
import os
import socket

import pytest
from fastapi.testclient import TestClient
from server_process import ServerProcess
from tiny_models import AGENT

from genenv_trainer.__main__ import parser
from genenv_trainer.serving.access import read_token
from genenv_trainer.serving.loaded_model import Placement
from genenv_trainer.serving.protocol import MAX_REQUESTS, MAX_SILENT
from genenv_trainer.serving.server import create_app
from genenv_trainer.serving.server import main as serve

TOKEN = "a-token-of-the-tests"
COMPLETION = {"model": AGENT, "prompt": "a", "max_tokens": 2}
PATHS = [("POST", "/v1/completions"), ("POST", "/v1/chat/completions"), ("POST", "/tokenize"), ("GET", "/v1/models")]


def client(store, host="127.0.0.1", **options) -> TestClient:
    return TestClient(create_app(store, 1, Placement(), **options), base_url=f"http://{host}:8741")


@pytest.mark.parametrize("header", [None, "Bearer wrong", TOKEN, f"Basic {TOKEN}", "Bearer ", "Bearer \xe9"])
@pytest.mark.parametrize(("method", "path"), PATHS)
def test_without_the_token_nothing_is_told(store, method, path, header):
    headers = {} if header is None else {"authorization": header.encode("latin-1")}
    answer = client(store, token=TOKEN).request(method, path, json=COMPLETION, headers=headers)
    assert (answer.status_code, answer.json()["error"]["code"]) == (401, "invalid_api_key")
    assert TOKEN not in answer.text


def test_with_the_token_it_answers_and_health_needs_none(store):
    asked = client(store, token=TOKEN)
    headers = {"authorization": f"Bearer {TOKEN}"}
    assert asked.post("/v1/completions", json=COMPLETION, headers=headers).status_code == 200
    assert asked.get("/health").status_code == 200


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "localhost.evil.example", ""])
@pytest.mark.parametrize("path", ["/health", "/v1/models"])
def test_a_name_that_is_not_its_own_is_refused(store, path, host):
    """As a web page sends it whose name leads to the loopback."""
    assert client(store).get(path, headers={"host": host}).status_code == 400


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::1]", "LOCALHOST"])
def test_the_names_of_the_loopback_are_its_own(store, host):
    assert client(store, host).get("/health").status_code == 200


def test_other_names_are_those_of_the_flag(store):
    assert client(store, "policy-server", hosts=["policy-server"]).get("/health").status_code == 200
    assert client(store, hosts=["policy-server"]).get("/health").status_code == 400


def test_the_token_comes_from_a_variable_or_a_file(tmp_path):
    file = tmp_path / "token"
    file.write_text(f"{TOKEN}\n")
    assert read_token({"GENENV_POLICY_TOKEN": TOKEN}) == TOKEN
    assert read_token({"GENENV_POLICY_TOKEN_FILE": str(file)}) == TOKEN
    assert read_token({}) is None


@pytest.mark.parametrize("bad", ["", "short", "with a space in it all", "a" * 513, "a-token-of-the-\ntests"])
def test_a_token_that_is_none_is_refused_without_being_quoted(bad):
    with pytest.raises(ValueError, match="16 to 512 visible ASCII characters") as raised:
        read_token({"GENENV_POLICY_TOKEN": bad})
    assert not bad or bad not in str(raised.value)


def test_other_machines_are_not_served_without_a_token(store, monkeypatch, capsys):
    for name in ("GENENV_POLICY_TOKEN", "GENENV_POLICY_TOKEN_FILE"):
        monkeypatch.delenv(name, raising=False)
    args = parser().parse_args(["serve", "--store", str(store), "--host", "0.0.0.0"])
    assert serve(args) == 2
    assert "--host 0.0.0.0: other machines reach it; GENENV_POLICY_TOKEN is needed" in capsys.readouterr().err
    assert "GENENV_POLICY_TOKEN" not in os.environ


def connections(server, count: int, sent: bytes = b"") -> list[socket.socket]:
    port = json.loads(server.port_file.read_text())["port"]
    made = [socket.create_connection(("127.0.0.1", port)) for _ in range(count)]
    for connection in made:
        connection.sendall(sent)
    return made


def status(connection: http.client.HTTPConnection, headers: dict) -> int:
    connection.request("GET", "/v1/models", headers=headers)
    with connection.getresponse() as answer:
        answer.read()
        return answer.status


@pytest.mark.parametrize(
    "sent",
    [
        b"",
        b"GET /health HTTP/1.1\r\n",
        b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 100\r\n\r\n",
        b"GET /v1/models HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
    ],
    ids=["silent", "half of the headers", "no body", "without the token"],
)
def test_connections_without_the_token_keep_nobody_out(store, tmp_path, monkeypatch, sent):
    monkeypatch.setenv("GENENV_POLICY_TOKEN", TOKEN)
    server = ServerProcess(store, tmp_path / "port.json")
    headers = {"authorization": f"Bearer {TOKEN}"}
    try:
        with server.client() as client:
            address = client.base_url
        # It does not connect again by itself, as httpx does.
        admitted = http.client.HTTPConnection(address.host, address.port)
        assert status(admitted, headers) == 200
        held = connections(server, 2 * MAX_REQUESTS, sent)
        with server.client() as late:
            assert late.get("/health").status_code == 200
            assert late.get("/v1/models", headers=headers).status_code == 200
        assert status(admitted, headers) == 200
        assert len(os.listdir(f"/proc/{server.process.pid}/fd")) < MAX_SILENT + MAX_REQUESTS / 2
        for connection in [*held, admitted]:
            connection.close()
    finally:
        server.process.kill()
        server.process.wait()
