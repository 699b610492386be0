"""Samples completions of a batch of prompts, one forward pass a token, over a key-value cache."""

import threading
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from transformers import DynamicCache, PreTrainedModel

from genenv_trainer.serving.cache import can_fill, roomy_cache
from genenv_trainer.serving.like_lengths import passes_of_like_length
from genenv_trainer.serving.limits import context_length
from genenv_trainer.serving.structure import CompiledStructure, RowGrammars
from genenv_trainer.serving.token_choice import choose
from genenv_trainer.serving.uniforms import row_keys, uniforms

KEEP_SHARE = 0.75
"""Once no more than this share of the rows is unfinished, the finished ones leave the batch."""


@dataclass(frozen=True)
class SamplingParams:
    """What to sample: `n` completions of each prompt, of at most `max_tokens` tokens, at `temperature` (0
    is greedy)."""

    prompts: list[list[int]]
    n: int
    seed: int
    temperature: float
    max_tokens: int
    top: int = 0
    """Number of most probable tokens to record at each step."""
    stopped: Callable[[list[int]], bool] | None = None
    """Whether the tokens sampled so far contain a stop string."""
    unwanted: threading.Event | None = None
    """Set once nobody waits for the rows any more."""
    first_prompt: int = 0
    first_sample: int = 0
    """Places of the first prompt and of the first sample in the request that this is a part of."""
    structure: CompiledStructure | None = None
    """What every answer is held to."""

    @property
    def is_wanted(self) -> bool:
        return self.unwanted is None or not self.unwanted.is_set()


class Unwanted(Exception):
    """Nobody waits for any row of the batch."""


@dataclass
class Row:
    """One completion: its tokens [T], their log-probabilities [T], and the `top` tokens [T][(id, logprob)]
    of each step."""

    token_ids: list[int]
    logprobs: list[float]
    top: list[list[tuple[int, float]]]
    finish_reason: str = "length"

    def add(
        self,
        token: int,
        logprob: float,
        top: list[tuple[int, float]],
        params: SamplingParams,
        end_ids: list[int],
    ) -> bool:
        """Records a token. Returns True if the row continues."""
        self.token_ids.append(token)
        self.logprobs.append(logprob)
        if params.top:
            self.top.append(top[: params.top])
        if token in end_ids or (params.stopped is not None and params.stopped(self.token_ids)):
            self.finish_reason = "stop"
            return False
        return len(self.token_ids) < params.max_tokens


def left_pad(prompts: list[list[int]]) -> tuple[torch.Tensor, torch.Tensor]:
    """Token ids and attention mask [P, L] of prompts that all end in the last column."""
    length = max(map(len, prompts))
    ids_P_L = torch.zeros(len(prompts), length, dtype=torch.long)
    mask_P_L = torch.zeros(len(prompts), length, dtype=torch.bool)
    for row, prompt in enumerate(prompts):
        ids_P_L[row, length - len(prompt) :] = torch.tensor(prompt)
        mask_P_L[row, length - len(prompt) :] = True
    return ids_P_L, mask_P_L


def best_of(logprobs_B_V: torch.Tensor, top: int) -> list[list[tuple[int, float]]]:
    """The `top` most probable tokens of each row with their log-probabilities, the best first."""
    if top == 0:
        return [[]] * len(logprobs_B_V)
    best = logprobs_B_V.topk(min(top, logprobs_B_V.shape[1]), dim=1)
    return [
        list(zip(ids, values, strict=True))
        for ids, values in zip(best.indices.tolist(), best.values.tolist(), strict=True)
    ]


class Decoder:
    """The model's side of a batch: feeds tokens, gives the next logits [B, V], and keeps or repeats rows."""

    def __init__(self, model: PreTrainedModel, prompts: list[list[int]], steps: int):
        self.model = model
        self.cache = roomy_cache(model.config, steps)
        self.input_B_L, prompt_mask = (table.to(model.device) for table in left_pad(prompts))
        self.seen = self.input_B_L.shape[1]
        self.positions_B_L = (prompt_mask.long().cumsum(dim=1) - 1).clamp(min=0)
        padded = not bool(prompt_mask.all())
        self.mask_B_S = torch.nn.functional.pad(prompt_mask, (0, steps), value=True) if padded else None
        self._passes = passes_of_like_length([len(prompt) for prompt in prompts])
        length = context_length(getattr(model.config, "max_position_embeddings", None))
        self._last_position = None if length is None else length - 1

    def first_logits(self) -> torch.Tensor:
        """After the prompts. Those of like length have a pass of their own: none is padded to one that is far
        longer."""
        if len(self._passes) == 1 or not can_fill(self.cache):
            return self.logits()
        caches, logits = [], []
        for rows in self._passes:
            caches.append(roomy_cache(self.model.config, 0))
            length = int(self.positions_B_L[rows, -1].max()) + 1
            mask = self.mask_B_S[rows, self.seen - length : self.seen]
            inputs = self.input_B_L[rows, -length:], None if mask.all() else mask
            logits.append(self._run(*inputs, self.positions_B_L[rows, -length:], caches[-1]))
        for index, layer in enumerate(self.cache.layers):
            parts = [(rows, cache.layers[index]) for rows, cache in zip(self._passes, caches, strict=True)]
            layer.fill(parts, self.seen)
            for cache in caches:
                cache.layers[index] = None
        order = torch.tensor([row for rows in self._passes for row in rows], device=self.model.device)
        return torch.cat(logits)[order.argsort()]

    def logits(self) -> torch.Tensor:
        mask = None if self.mask_B_S is None else self.mask_B_S[:, : self.seen]
        return self._run(self.input_B_L, mask, self.positions_B_L, self.cache)

    def _run(
        self,
        input_B_L: torch.Tensor,
        mask_B_S: torch.Tensor | None,
        positions_B_L: torch.Tensor,
        cache: DynamicCache,
    ) -> torch.Tensor:
        output = self.model(
            input_ids=input_B_L,
            attention_mask=mask_B_S,
            position_ids=positions_B_L,
            past_key_values=cache,
            use_cache=True,
            logits_to_keep=1,
        )
        return output.logits[:, -1]

    def feed(self, token_B: torch.Tensor) -> None:
        self.input_B_L = token_B[:, None]
        self.positions_B_L = self.positions_B_L[:, -1:] + 1
        if self._last_position is not None:
            # Rows that have ended are fed with the others, past what a model with learned positions has.
            self.positions_B_L = self.positions_B_L.clamp(max=self._last_position)
        self.seen += 1

    def select(self, rows_B: torch.Tensor) -> None:
        """Makes the batch out of these of its rows, in this order; a row may be taken more than once."""
        self.cache.batch_select_indices(rows_B)
        self.input_B_L, self.positions_B_L = self.input_B_L[rows_B], self.positions_B_L[rows_B]
        if self.mask_B_S is not None:
            self.mask_B_S = self.mask_B_S[rows_B]


@torch.inference_mode()
def sample(model: PreTrainedModel, end_ids: list[int], batch: list[SamplingParams]) -> list[list[Row]]:
    """Rows of each request of the batch, ordered by prompt and then sample. A row ends at a token of
    `end_ids`, at a stop string, or at its limit.

    Every prompt is prefilled once, then repeated `n` times. Raises ArithmeticError where the logits are not
    finite, NoTokenAllowed, and Unwanted between two tokens once all requests are.
    """
    row_params = [params for params in batch for _ in range(len(params.prompts) * params.n)]
    limit_B = np.array([params.max_tokens for params in row_params])
    keys_B = np.concatenate(
        [
            row_keys(params.seed, len(params.prompts), params.n, params.first_prompt, params.first_sample)
            for params in batch
        ]
    )
    uniform_B_T = torch.from_numpy(uniforms(keys_B, int(limit_B.max()))).to(model.device)
    temperature_B = torch.tensor([params.temperature for params in row_params], device=model.device)
    top = max(params.top for params in batch)
    rows = [Row([], [], []) for _ in row_params]

    decoder = Decoder(model, [prompt for params in batch for prompt in params.prompts], int(limit_B.max()))
    logits_B_V = decoder.first_logits()
    copies_P = torch.tensor([params.n for params in batch for _ in params.prompts], device=model.device)
    if int(copies_P.max()) > 1:
        source_B = torch.repeat_interleave(copies_P)
        decoder.select(source_B)
        logits_B_V = logits_B_V[source_B]

    grammars = RowGrammars([params.structure for params in row_params], logits_B_V.shape[1])
    active = np.arange(len(rows))
    going = np.ones(len(rows), dtype=bool)
    for step in range(int(limit_B.max())):
        if not any(params.is_wanted for params in batch):
            raise Unwanted(f"{len(rows)} rows were given up at token {step + 1}")
        if step > 0:
            logits_B_V = decoder.logits()
        token_B, logprobs_B_V = choose(
            logits_B_V, temperature_B[active], uniform_B_T[active, step], grammars.allowed(active, going)
        )
        chosen_B = logprobs_B_V.gather(1, token_B[:, None])[:, 0]
        if not bool(chosen_B.isfinite().all()):
            raise ArithmeticError(f"the logits of token {step + 1} are not finite")
        tokens, chosen, best = token_B.tolist(), chosen_B.tolist(), best_of(logprobs_B_V, top)
        for place in np.flatnonzero(going).tolist():
            at = active[place]
            grammars.accept(at, tokens[place])
            going[place] = rows[at].add(tokens[place], chosen[place], best[place], row_params[at], end_ids)
        if not going.any():
            break
        decoder.feed(token_B)
        if going.mean() <= KEEP_SHARE:
            decoder.select(torch.from_numpy(np.flatnonzero(going)).to(model.device))
            active, going = active[going], np.ones(int(going.sum()), dtype=bool)

    answers = iter(rows)
    return [[next(answers) for _ in range(len(params.prompts) * params.n)] for params in batch]
