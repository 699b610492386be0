"""`GET /metrics` of the policy server."""

import re

import pytest
from fastapi.testclient import TestClient
from tiny_models import AGENT

from genenv_trainer.serving.loaded_model import Placement
from genenv_trainer.serving.server import create_app

COMPLETION = {"model": AGENT, "prompt": ["ab", "a"], "n": 3, "max_tokens": 2, "seed": 1}


@pytest.fixture
def asked(store):
    return TestClient(create_app(store, 1, Placement()), base_url="http://127.0.0.1:8741")


def values(text: str) -> dict[str, float]:
    return {
        name: float(value)
        for name, value in re.findall(r"^genenv_policy_server_(\S+) (\S+)$", text, flags=re.MULTILINE)
    }


def test_it_counts_requests_by_path_and_status_and_their_tokens(asked):
    usage = asked.post("/v1/completions", json=COMPLETION).json()["usage"]
    assert asked.post("/v1/completions", json=COMPLETION | {"model": "absent"}).status_code == 404
    shown = values(asked.get("/metrics").text)
    assert shown['requests_total{path="/v1/completions",status="200"}'] == 1
    assert shown['requests_total{path="/v1/completions",status="404"}'] == 1
    assert shown['tokens_total{kind="prompt"}'] == usage["prompt_tokens"] > 0
    assert shown['tokens_total{kind="completion"}'] == usage["completion_tokens"] > 0
    assert shown['request_duration_seconds_count{path="/v1/completions"}'] == 2
    assert shown['request_duration_seconds_bucket{path="/v1/completions",le="+Inf"}'] == 2
    assert shown['request_duration_seconds_bucket{path="/v1/completions",le="300"}'] == 2
    assert shown["models_loaded"] == 1
    assert shown["requests_waiting"] == shown["busy_seconds"] == shown["gpu_memory_bytes"] == 0


def test_paths_that_are_none_share_a_label(asked):
    for path in ('/v1/"x"', "/a", "/b%0A"):
        asked.get(path)
    text = asked.get("/metrics").text
    assert values(text)['requests_total{path="other",status="404"}'] == 3
    assert len(re.findall(r'path="', text)) < 30


def test_it_takes_the_token_of_the_server(store):
    asked = TestClient(
        create_app(store, 1, Placement(), token="a-token-of-the-tests"), base_url="http://127.0.0.1:8741"
    )
    assert asked.get("/metrics").status_code == 401
    headers = {"authorization": "Bearer a-token-of-the-tests"}
    assert "genenv_policy_server_requests_total" in asked.get("/metrics", headers=headers).text
