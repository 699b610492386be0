"""The sampler in process: its distribution, its log-probabilities, its generator."""

import numpy as np
import pytest
import torch
from tiny_models import save_model
from transformers import GPT2Config, GPT2LMHeadModel, MistralConfig, MistralForCausalLM

from genenv_trainer.serving import like_lengths, token_choice
from genenv_trainer.serving.sampler import SamplingParams, left_pad, sample
from genenv_trainer.serving.token_choice import choose
from genenv_trainer.serving.uniforms import row_keys, uniforms

PROMPTS = [[5, 6, 7], [8], [9, 10, 11, 12, 13, 14]]


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return save_model(tmp_path_factory.mktemp("model"), seed=3)


def full_logprobs(model, prompt, tokens, temperature):
    """Log-probabilities [T] of the tokens in one forward pass, as a trainer computes them."""
    with torch.no_grad():
        logits_S_V = model(input_ids=torch.tensor([prompt + tokens])).logits[0] / temperature
    logprobs_S_V = torch.log_softmax(logits_S_V, dim=-1)
    return logprobs_S_V[len(prompt) - 1 : -1].gather(1, torch.tensor(tokens)[:, None])[:, 0].numpy()


@pytest.mark.parametrize("temperature", [1.0, 0.7])
def test_logprobs_are_those_of_a_full_forward_pass(model, temperature):
    # token 30 ends a row, so that rows of different lengths leave the batch
    [rows] = sample(model, [30], [SamplingParams(PROMPTS, 8, 11, temperature, 24)])
    assert len({len(row.token_ids) for row in rows}) > 3
    for index, row in enumerate(rows):
        expected = full_logprobs(model, PROMPTS[index // 8], row.token_ids, temperature)
        np.testing.assert_allclose(row.logprobs, expected, atol=1e-4)


@pytest.mark.parametrize(
    ("free_padding", "first"), [(0, [(2, 2), (2, 11), (2, 30)]), (90, [(5, 28), (1, 30)]), (4096, [(6, 30)])]
)
def test_prompts_of_unlike_length_are_run_apart_and_sampled_from_together(model, monkeypatch, free_padding, first):
    monkeypatch.setattr(like_lengths, "FREE_PADDING", free_padding)
    lengths = [9, 2, 11, 30, 2, 28]
    prompts = [[5 + (row + place) % 20 for place in range(length)] for row, length in enumerate(lengths)]
    passes, forward = [], model.forward

    def seen(input_ids, **fields):
        passes.append(tuple(input_ids.shape))
        return forward(input_ids=input_ids, **fields)

    monkeypatch.setattr(model, "forward", seen)
    [rows] = sample(model, [], [SamplingParams(prompts, 2, 7, 1.0, 12)])
    assert passes == [*first, *[(12, 1)] * 11]
    for index, row in enumerate(rows):
        expected = full_logprobs(model, prompts[index // 2], row.token_ids, 1.0)
        np.testing.assert_allclose(row.logprobs, expected, atol=1e-4)


def test_a_model_whose_layers_forget_has_one_pass(monkeypatch):
    monkeypatch.setattr(like_lengths, "FREE_PADDING", 0)
    torch.manual_seed(3)
    shape = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4}
    config = MistralConfig(vocab_size=40, num_key_value_heads=2, sliding_window=4, **shape)
    model = MistralForCausalLM(config).eval()
    [rows] = sample(model, [], [SamplingParams(PROMPTS, 1, 7, 1.0, 6)])
    for prompt, row in zip(PROMPTS, rows, strict=True):
        np.testing.assert_allclose(row.logprobs, full_logprobs(model, prompt, row.token_ids, 1.0), atol=1e-4)


def test_greedy_is_that_of_transformers(model):
    [rows] = sample(model, [], [SamplingParams(PROMPTS, 1, 0, 0, 20)])
    for prompt, row in zip(PROMPTS, rows, strict=True):
        expected = model.generate(
            torch.tensor([prompt]), do_sample=False, max_new_tokens=20, eos_token_id=None
        )
        assert row.token_ids == expected[0, len(prompt) :].tolist()


def test_two_tokens_follow_the_models_joint_distribution(model):
    count, prompt, temperature = 20_000, [5, 6, 7], 0.5
    [rows] = sample(model, [], [SamplingParams([prompt], count, 1, temperature, 2)])
    with torch.no_grad():
        first_V = torch.softmax(model(torch.tensor([prompt])).logits[0, -1] / temperature, -1)
        pairs_V_L = torch.tensor([[*prompt, token] for token in range(len(first_V))])
        second_V_V = torch.softmax(model(pairs_V_L).logits[:, -1] / temperature, -1)
    expected = (first_V[:, None] * second_V_V).flatten().double().numpy() * count
    seen = np.bincount(
        [row.token_ids[0] * len(first_V) + row.token_ids[1] for row in rows], minlength=len(expected)
    )
    frequent = expected >= 5
    expected = np.append(expected[frequent], expected[~frequent].sum())
    seen = np.append(seen[frequent], seen[~frequent].sum())
    freedom = len(expected) - 1
    assert freedom > 50
    chi_square = ((seen - expected) ** 2 / expected).sum()
    # within 4 standard deviations of its mean
    assert abs(chi_square - freedom) < 4 * np.sqrt(2 * freedom)


def test_choose_never_takes_a_token_of_probability_0():
    logits_B_V = torch.tensor([[-torch.inf, 0.0, -torch.inf, 0.0, -torch.inf]]).repeat(4, 1)
    uniform_B = torch.tensor([0.0, 0.499, 0.5, 1 - 2**-53], dtype=torch.double)
    token_B, logprobs_B_V = choose(logits_B_V, torch.ones(4), uniform_B)
    assert token_B.tolist() == [1, 1, 3, 3]
    assert logprobs_B_V[0, 1].item() == pytest.approx(np.log(0.5))


def test_a_request_batched_with_others_keeps_its_own_length_temperature_and_seed(model):
    one, other = SamplingParams([[5, 6]], 1, 3, 0.0, 4), SamplingParams([[7, 8, 9]], 1, 4, 1.0, 9)
    together = sample(model, [], [one, other])
    assert [[row.token_ids for row in rows] for rows in together] == [
        [row.token_ids for row in sample(model, [], [params])[0]] for params in (one, other)
    ]


def test_a_row_that_has_ended_goes_on_beside_others_past_the_positions_of_the_model():
    torch.manual_seed(3)
    shape = {"vocab_size": 40, "n_embd": 16, "n_layer": 1, "n_head": 2, "n_positions": 24}
    model = GPT2LMHeadModel(GPT2Config(**shape, bos_token_id=None, eos_token_id=None)).eval()
    lengths = [(20, 4), (2, 22), (3, 21), (2, 20), (4, 20)]
    batch = [SamplingParams([[5] * prompt], 1, prompt + most, 1.0, most) for prompt, most in lengths]
    for params, [row] in zip(batch, sample(model, [], batch), strict=True):
        expected = full_logprobs(model, params.prompts[0], row.token_ids, 1.0)
        assert len(row.token_ids) == params.max_tokens
        np.testing.assert_allclose(row.logprobs, expected, atol=1e-4)


def test_logits_that_are_not_finite_are_an_error(model):
    with torch.no_grad():
        weight = model.lm_head.weight
        kept = weight[3].clone()
        weight[3] = torch.nan
        try:
            with pytest.raises(ArithmeticError, match="token 1 "):
                sample(model, [], [SamplingParams([[5]], 1, 0, 1.0, 3)])
        finally:
            weight[3] = kept


def test_left_pad_ends_all_prompts_in_the_last_column():
    ids, mask = left_pad([[5], [6, 7, 8]])
    assert ids.tolist() == [[0, 0, 5], [6, 7, 8]]
    assert mask.tolist() == [[False, False, True], [True, True, True]]


def test_uniforms_are_splitmix64_by_row():
    def next_output(state):
        z = (state + 0x9E3779B97F4A7C15) % 2**64
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
        z = (z ^ (z >> 27)) * 0x94D049BB133111EB % 2**64
        return z ^ (z >> 31)

    assert next_output(0) == 0xE220A8397B1DCDAF  # the reference implementation's first output for seed 0
    key = next_output(next_output(next_output(-5 % 2**64) + 2) + 1)
    keys = row_keys(-5, 3, 2)
    assert int(keys[2 * 2 + 1]) == key
    expected = [(next_output(key + step * 0x9E3779B97F4A7C15) >> 11) / 2**53 for step in range(3)]
    assert uniforms(keys, 3)[5].tolist() == expected


def test_uniforms_of_rows_and_steps_do_not_repeat():
    drawn = np.concatenate([uniforms(row_keys(seed, 32, 8), 64).ravel() for seed in range(4)])
    assert len(np.unique(drawn)) == len(drawn)
    assert abs(drawn.mean() - 0.5) < 4 * np.sqrt(1 / 12 / len(drawn))


@pytest.mark.parametrize("vocabulary", [4096, 5000, 49_152])
def test_tokens_found_by_blocks_are_those_of_the_whole_sum(vocabulary):
    generator = torch.Generator().manual_seed(0)
    rows = 200
    logits = torch.randn(rows, vocabulary, generator=generator) * 4
    probability = torch.softmax(logits, dim=-1)
    probability[50:100] *= torch.rand(50, vocabulary, generator=generator) < 0.001
    probability[50:100, 17] = 0.1
    probability[100:150] = torch.nn.functional.one_hot(torch.arange(50) * 7, vocabulary).float()
    probability[150:, : vocabulary - 3] = 0
    uniform = torch.rand(rows, generator=generator, dtype=torch.double)
    for drawn in (uniform, torch.zeros_like(uniform), torch.full_like(uniform, 1 - 2**-53)):
        token = token_choice.invert_in_blocks(probability, drawn)
        assert token.tolist() == token_choice.invert_whole(probability, drawn).tolist()
        assert bool((probability.gather(1, token[:, None]) > 0).all())


def test_a_large_vocabulary_is_sampled_by_blocks_and_a_small_one_is_not(monkeypatch):
    used = []
    whole = token_choice.invert_whole
    monkeypatch.setattr(token_choice, "invert_in_blocks", lambda *of: used.append(of) or whole(*of))
    for vocabulary in (token_choice.LARGE_VOCABULARY - 1, token_choice.LARGE_VOCABULARY):
        choose(torch.randn(2, vocabulary), torch.tensor([1.0, 0.5]), torch.tensor([0.3, 0.6]))
    assert [probability.shape[1] for probability, _ in used] == [token_choice.LARGE_VOCABULARY]


def test_logits_that_are_no_numbers_name_a_token_of_the_vocabulary():
    nothing = torch.full((1, 5000), torch.nan)
    assert 0 <= int(token_choice.invert_in_blocks(nothing, torch.tensor([0.5]))[0]) < 5000
