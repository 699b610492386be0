"""Two processes answer alike, and one ends well."""

import threading
import time

from tiny_models import ADAPTED, AGENT

BODY = {
    "prompt": ["what is 3+4?", "a", "add 17 and 25"],
    "n": 5,
    "seed": 12345,
    "max_tokens": 30,
    "logprobs": 1,
    "temperature": 0.8,
}


def test_two_processes_give_the_same_bytes(servers, client):
    with servers[1].client() as other:
        for model in (ADAPTED, AGENT, ADAPTED):
            body = BODY | {"model": model}
            answer = client.post("/v1/completions", json=body)
            assert answer.status_code == 200
            assert (
                answer.content
                == client.post("/v1/completions", json=body).content
                == other.post("/v1/completions", json=body).content
            )


def test_sigterm_ends_it_with_0_once_the_request_is_answered(servers):
    answers = []
    with servers[1].client() as other:
        body = BODY | {"model": AGENT, "n": 100, "max_tokens": 90}
        sender = threading.Thread(target=lambda: answers.append(other.post("/v1/completions", json=body)))
        sender.start()
        time.sleep(0.2)
        assert not answers
        status = servers[1].stop()
        sender.join()
    assert status == 0
    assert answers[0].status_code == 200
    assert len(answers[0].json()["choices"]) == 300
