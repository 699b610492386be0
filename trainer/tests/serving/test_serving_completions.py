"""POST /v1/completions through a real server process."""

from concurrent.futures import ThreadPoolExecutor

from tiny_models import ADAPTED, AGENT, CHARACTERS

PROMPTS = ["what is 3+4?", "a", "add 17 and 25", "a"]


def test_equal_prompts_get_different_samples(complete):
    choices = complete(prompt=PROMPTS, n=4, max_tokens=16)
    assert [choice["index"] for choice in choices] == list(range(16))
    assert len({tuple(choice["token_ids"]) for choice in choices}) == 16
    prompts = [choice["prompt_token_ids"] for choice in choices]
    assert prompts == [[CHARACTERS.index(one) + 3 for one in PROMPTS[index // 4]] for index in range(16)]


def test_all_kinds_of_prompt_are_the_same_prompt(client, complete):
    ids = client.post("/tokenize", json={"model": AGENT, "prompt": PROMPTS[0]}).json()["tokens"]
    [expected] = complete(prompt=PROMPTS[0])
    for prompt in ([PROMPTS[0]], ids, [ids]):
        assert complete(prompt=prompt) == [expected]
    assert expected["prompt_token_ids"] == ids


def test_tokens_text_and_logprobs_are_aligned(complete):
    for choice in complete(prompt=PROMPTS, n=8, max_tokens=24, logprobs=2):
        found = choice["logprobs"]
        assert (
            len(choice["token_ids"])
            == len(found["tokens"])
            == len(found["token_logprobs"])
            == len(found["text_offset"])
        )
        shown = [token for token in found["tokens"] if token not in ("<pad>", "<bos>", "<eos>")]
        assert choice["text"] == "".join(shown)
        assert found["text_offset"] == [
            len("".join(found["tokens"][:step])) for step in range(len(found["tokens"]))
        ]
        for token, logprob, top in zip(
            found["tokens"], found["token_logprobs"], found["top_logprobs"], strict=True
        ):
            assert top[token] == logprob <= max(top.values()) <= 0
            assert 2 <= len(top) <= 3


def test_a_row_ends_at_the_end_token_or_at_the_limit(complete):
    choices = complete(prompt="a", n=64, max_tokens=40)
    assert {choice["finish_reason"] for choice in choices} == {"stop", "length"}
    for choice in choices:
        ended = 2 in choice["token_ids"]
        assert choice["finish_reason"] == ("stop" if ended else "length")
        assert "<eos>" not in choice["text"]
        assert (
            choice["token_ids"].index(2) == len(choice["token_ids"]) - 1
            if ended
            else len(choice["token_ids"]) == 40
        )


def test_stop_strings_end_a_row_and_are_cut_from_its_text(complete):
    fields = {"prompt": "a", "n": 32, "max_tokens": 30}
    plain, stopped = complete(**fields), complete(**fields, stop=["e", "zz"])
    assert any("e" in choice["text"] for choice in plain)
    for before, after in zip(plain, stopped, strict=True):
        assert "e" not in after["text"]
        # up to the first stop string of any row all rows have the same mates, so the first token is the same
        assert before["token_ids"][0] == after["token_ids"][0]
        if after["finish_reason"] == "stop" and after["token_ids"][-1] != 2:
            assert CHARACTERS[after["token_ids"][-1] - 3] in "ez"


def test_temperature_0_is_greedy_with_the_logprobs_of_temperature_1(complete):
    [one] = complete(prompt="a", temperature=0, logprobs=1, seed=1)
    [other] = complete(prompt="a", temperature=0, logprobs=1, seed=2)
    assert one == other
    assert all(
        list(top) == [token]
        for token, top in zip(one["logprobs"]["tokens"], one["logprobs"]["top_logprobs"], strict=True)
    )
    assert one["logprobs"]["token_logprobs"][0] < 0


def test_a_request_without_seed_says_the_one_it_drew(client):
    body = {"model": AGENT, "prompt": PROMPTS, "n": 2}
    first, second = (client.post("/v1/completions", json=body).json() for _ in range(2))
    assert first["seed"] != second["seed"]
    again = client.post("/v1/completions", json=body | {"seed": first["seed"]}).json()
    assert again["choices"] == first["choices"]


def test_usage_counts_each_prompt_once(client):
    body = {"model": AGENT, "prompt": ["ab", "abc"], "n": 2, "seed": 1, "return_token_ids": True}
    answer = client.post("/v1/completions", json=body).json()
    sampled = sum(len(choice["token_ids"]) for choice in answer["choices"])
    assert answer["usage"] == {"prompt_tokens": 5, "completion_tokens": sampled, "total_tokens": 5 + sampled}
    assert answer["model"] == AGENT


def test_an_adapter_is_served_beside_its_base(complete):
    fields = {"prompt": PROMPTS, "max_tokens": 12, "logprobs": 0}
    base = complete(**fields)
    adapted = complete(**fields, model=ADAPTED)
    assert adapted != base
    assert complete(**fields) == base
    assert complete(**fields, model=ADAPTED) == adapted


def test_concurrent_requests_get_their_own_answers(client, complete):
    """Greedy ones, many at once and so partly in one batch, answer as they do alone; a seeded one is
    bit-equal."""
    prompts = [f"{index} + {index}" for index in range(24)]
    fields = {"temperature": 0, "max_tokens": 8, "seed": None}
    alone = [complete(prompt=prompt, **fields)[0]["text"] for prompt in prompts]
    seeded = {"prompt": PROMPTS, "n": 2, "logprobs": 1}
    expected = complete(**seeded)
    with ThreadPoolExecutor(12) as pool:
        answers = list(pool.map(lambda prompt: complete(prompt=prompt, **fields)[0]["text"], prompts * 2))
        repeated = list(
            pool.map(
                lambda index: complete(**seeded) if index % 2 else complete(prompt="a", seed=None), range(12)
            )
        )
    assert answers == alone * 2
    assert all(answer == expected for answer in repeated[1::2])
