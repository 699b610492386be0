"""POST /v1/chat/completions, /tokenize and /detokenize."""

import time

import pytest
from tiny_models import AGENT

from genenv_trainer.serving import templates
from genenv_trainer.serving.chat import Message, encode_messages
from genenv_trainer.serving.registry import Registry

MESSAGES = [
    {"role": "system", "content": "add"},
    {"role": "user", "content": [{"type": "text", "text": "3+4?"}]},
]


def chat(client, **fields):
    body = {"model": AGENT, "messages": MESSAGES, "seed": 3, "max_tokens": 12, "return_token_ids": True}
    answer = client.post("/v1/chat/completions", json=body | fields)
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_without_a_template_messages_are_lines(client):
    answer = chat(client, n=3)
    text = "system: add\nuser: 3+4?\nassistant:"
    tokens = client.post("/tokenize", json={"model": AGENT, "prompt": text}).json()
    assert answer["prompt_token_ids"] == tokens["tokens"]
    assert client.post("/tokenize", json={"model": AGENT, "messages": MESSAGES}).json() == tokens
    assert answer["object"] == "chat.completion"
    assert [choice["message"]["role"] for choice in answer["choices"]] == ["assistant"] * 3
    assert len({choice["message"]["content"] for choice in answer["choices"]}) == 3


def test_a_chat_is_a_completion_of_its_prompt(client, complete):
    answer = chat(client, n=2)
    plain = complete(prompt=answer["prompt_token_ids"], n=2, seed=3, max_tokens=12)
    assert [choice["token_ids"] for choice in answer["choices"]] == [choice["token_ids"] for choice in plain]


def test_logprobs_have_an_entry_for_each_token(client):
    [choice] = chat(client, logprobs=True, top_logprobs=2)["choices"]
    content = choice["logprobs"]["content"]
    assert len(content) == len(choice["token_ids"])
    assert all(
        bytes(entry["bytes"]).decode() == entry["token"] and len(entry["top_logprobs"]) == 2
        for entry in content
    )
    assert chat(client)["choices"][0]["logprobs"] is None


def test_a_chat_without_limit_ends_by_itself_or_at_the_context(client):
    answer = chat(client, max_tokens=None, n=8)
    room = 128 - len(answer["prompt_token_ids"])
    for choice in answer["choices"]:
        assert choice["finish_reason"] == (
            "length" if len(choice["token_ids"]) == room and choice["token_ids"][-1] != 2 else "stop"
        )


def test_a_chat_template_is_used_where_there_is_one(client, store):
    import json
    import shutil

    shutil.copytree(store / "objects" / "full", store / "objects" / "template")
    template = (
        "{% for m in messages %}{% if m.role == 'tool' %}{{ raise_exception('no tools') }}{% endif %}"
        "{{ m.role }}={{ m.content }}\n{% endfor %}a:"
    )
    (store / "objects" / "template" / "chat_template.jinja").write_text(template)
    (store / "served" / "template.json").write_text(
        json.dumps({"path": "objects/full", "tokenizer": "objects/template"})
    )
    answer = client.post("/tokenize", json={"model": "template", "messages": MESSAGES}).json()
    assert client.post("/detokenize", json={"model": "template", "tokens": answer["tokens"]}).json() == {
        "prompt": "system=add\nuser=3+4?\na:"
    }
    refused = client.post(
        "/v1/chat/completions", json={"model": "template", "messages": [{"role": "tool", "content": "x"}]}
    )
    assert (refused.status_code, refused.json()["error"]["param"]) == (400, "messages")
    assert "no tools" in refused.json()["error"]["message"]


@pytest.mark.parametrize(
    ("name", "template"),
    [
        ("loops", "{% for a in range(90000) %}{% for b in range(90000) %}{% endfor %}{% endfor %}"),
        ("memory", "{{ 'a' * 20000000000 }}"),
        ("long", "{{ 'a' * 9000000 }}"),
        ("module", "{{ messages.__class__.__mro__[1].__subclasses__() }}"),
    ],
)
def test_a_template_that_takes_too_much_is_ended_and_the_rest_goes_on(store, monkeypatch, name, template):
    monkeypatch.setattr(templates, "TEMPLATE_SECONDS", 5)
    renderer = templates.TemplateRenderer()
    messages = [{"role": "user", "content": "a"}]
    try:
        started = time.monotonic()
        assert renderer.render("{{ messages[0].content }}b", messages, {}) == "ab"
        with pytest.raises(templates.TemplateFailed):
            renderer.render(template, messages, {})
        assert renderer.render("{{ messages[0].role }}", messages, {}) == "user"
        assert time.monotonic() - started < 400
    finally:
        renderer.close()


def test_an_answer_does_not_depend_on_the_day():
    template = "{% set today = strftime_now('%d %b %Y, %H:%M') %}{{ today }}{{ messages[0].content }}"
    renderer = templates.TemplateRenderer()
    try:
        for content in ("a", "b"):
            messages = [{"role": "user", "content": content}]
            assert renderer.render(template, messages, {}) == f"26 Jul 2024, 00:00{content}"
        with pytest.raises(templates.TemplateFailed, match="TemplateSyntaxError"):
            renderer.render("{% set %}", messages, {})
    finally:
        renderer.close()


def test_a_template_makes_the_tokens_that_the_library_makes(store):
    """Special tokens by name, none of them added, and no field without a value."""
    loaded = Registry(store, capacity=1).get(AGENT)
    loaded.tokenizer.chat_template = (
        "{{ eos_token }}{% for m in messages %}{{ m.role }} {{ 'x' if m.name is defined else 'y' }} {{ m.content }}"
        "{% endfor %}{% if add_generation_prompt %}a:{% endif %}"
    )
    messages = [Message(role="user", content="3+4?", name=None), Message(role="tool", content="7", name="sum")]
    plain = [message.plain() for message in messages]
    expected = loaded.tokenizer.apply_chat_template(plain, add_generation_prompt=True, return_dict=False)
    assert encode_messages(loaded, messages) == expected
    assert loaded.tokenizer.eos_token_id in expected


def test_tokens_go_round(client):
    text = "what is 3 + 4?\nask: 7"
    answer = client.post(
        "/tokenize", json={"model": AGENT, "prompt": text, "add_special_tokens": False}
    ).json()
    assert answer["count"] == len(answer["tokens"]) == len(text)
    assert answer["max_model_len"] == 128
    assert client.post("/detokenize", json={"model": AGENT, "tokens": answer["tokens"]}).json() == {
        "prompt": text
    }
