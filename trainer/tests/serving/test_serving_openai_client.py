"""The openai package talks to the server as to any other."""

import openai
import pytest
from tiny_models import AGENT


@pytest.fixture
def openai_client(client):
    return openai.OpenAI(base_url=f"{client.base_url}/v1", api_key="none", max_retries=0)


def test_completions_and_chat_parse(openai_client):
    asked = {"model": AGENT, "seed": 5, "n": 2, "max_tokens": 8, "extra_body": {"return_token_ids": True}}
    answer = openai_client.completions.create(prompt=["a", "b"], logprobs=1, **asked)
    assert [choice.index for choice in answer.choices] == [0, 1, 2, 3]
    assert all(len(choice.token_ids) == len(choice.logprobs.token_logprobs) for choice in answer.choices)
    chat = openai_client.chat.completions.create(
        messages=[{"role": "user", "content": "hi"}], logprobs=True, top_logprobs=1, **asked
    )
    assert all(
        choice.message.role == "assistant" and choice.logprobs.content[0].top_logprobs
        for choice in chat.choices
    )
    assert [model.id for model in openai_client.models.list()].count(AGENT) == 1


def test_errors_are_the_clients_own(openai_client):
    with pytest.raises(openai.NotFoundError, match="nobody") as missing:
        openai_client.completions.create(model="nobody", prompt="a")
    assert missing.value.code == "model_not_found"
    with pytest.raises(openai.BadRequestError) as refused:
        openai_client.completions.create(model=AGENT, prompt="a", top_p=0.5)
    assert refused.value.param == "top_p"
