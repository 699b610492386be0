"""Packed batches: beginnings run once and labels in chunks give the values and gradients of plain rows."""

import random

import pytest
import torch
from job_folders import (
    ARCHITECTURE,
    change_job,
    copy_inputs,
    job_settings,
    outcome,
    read,
    sequence,
    work_folder,
)
from torch.utils._python_dispatch import TorchDispatchMode
from transformers import AutoConfig, AutoModelForCausalLM

from genenv_trainer import packing, token_terms
from genenv_trainer.adapters import attach_adapter, causal_model
from genenv_trainer.forward import Reference
from genenv_trainer.job_config import Adapter, load_job
from genenv_trainer.packing import packed_batches
from genenv_trainer.records import Record
from genenv_trainer.setup import prepare_job
from genenv_trainer.shared_prefixes import (
    ARCHITECTURES,
    Segment,
    can_share_prefixes,
    shared_prefix_attention,
    use_shared_prefixes,
)
from genenv_trainer.step import Objective, StepBatch
from genenv_trainer.token_terms import Head, LabelTerms
from genenv_trainer.work_folder import WorkFolder

CPU = torch.device("cpu")
VOCABULARY = 50
SHAPE = ARCHITECTURE | {"num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": VOCABULARY}
ADAPTER = Adapter(r=4, alpha=8, dropout=0.0, target_modules=["q_proj", "v_proj", "up_proj", "down_proj"])


def new_model(seed: int, adapted: bool, model_type: str = "llama", **config) -> torch.nn.Module:
    """A random model whose distributions are far from uniform, with an adapter that changes them."""
    torch.manual_seed(seed)
    shape = {name: value for name, value in SHAPE.items() if name != "model_type"} | config
    model = AutoModelForCausalLM.from_config(
        AutoConfig.for_model(model_type, **shape, pad_token_id=0), attn_implementation="sdpa"
    )
    with torch.no_grad():
        model.get_output_embeddings().weight.mul_(20)
    if adapted:
        model = attach_adapter(model, None, ADAPTER)
        with torch.no_grad():
            for name, weight in model.named_parameters():
                if "lora_B" in name:
                    weight.normal_(std=0.3)
    return model.train()


def ragged(seed: int, groups: int = 5) -> list[Record]:
    """Groups of 1 to 6 sequences that share a prompt, some of several turns, some cut off before an answer,
    shuffled. Half of the prompts begin alike; some sequences repeat another one of their group, some do so up
    to a token, and some are the beginning of another."""
    rng = random.Random(seed)
    beginning, records = [rng.randrange(VOCABULARY) for _ in range(11)], []
    for group in range(groups):
        prompt = rng.choice([beginning, []]) + [rng.randrange(VOCABULARY) for _ in range(rng.randint(1, 9))]
        earlier: list[tuple[list[int], list[int]]] = []
        for _ in range(rng.randint(1, 6)):
            turns = [[1] * rng.randint(1, 7)]
            for _ in range(rng.choice([0, 0, 1, 2])):
                turns += [[0] * rng.randint(1, 4), [1] * rng.randint(1, 5)]
            mask = [bit for turn in turns for bit in turn] + [0] * rng.randint(0, 2)
            if rng.random() < 0.1:
                mask = [0] * len(mask)
            answer = [rng.randrange(VOCABULARY) for _ in mask]
            if earlier and rng.random() < 0.7:
                answer, mask = alike(rng, rng.choice(earlier), (answer, mask))
            earlier.append((answer, mask))
            whole = [0] * len(prompt) + mask
            records.append(
                Record(
                    "record",
                    token_ids=prompt + answer,
                    mask=whole,
                    logprobs=[-rng.uniform(1, 6) * bit for bit in whole],
                    temperature=rng.choice([0.7, 1.0, 1.3]),
                    advantage=rng.uniform(-1, 1),
                    weight=rng.uniform(0.2, 2),
                    group_id=str(group),
                )
            )
    rng.shuffle(records)
    return records


def alike(rng: random.Random, earlier: tuple, other: tuple) -> tuple:
    """The tokens and mask of `earlier`, its beginning, or its beginning and then the rest of `other`."""
    end = rng.randint(1, len(earlier[0]))
    return rng.choice(
        [
            earlier,
            tuple(part[:end] for part in earlier),
            tuple(part[:end] + rest[end:] for part, rest in zip(earlier, other, strict=True)),
        ]
    )


def step_outcome(model, reference, records, kind, settings, packed, pull_back=False):
    """Loss, metric sums, gradients and mean KL of one step."""
    objective = Objective(kind, settings, model, reference, None, lambda: None, packed)
    batch = StepBatch.of(records, settings.tokens_per_micro_batch, CPU, packed)
    if reference is not None:
        reference.start_step()
    model.zero_grad()
    loss, sums = objective.accumulate_gradients(batch, pull_back)
    gradients = {name: p.grad.clone() for name, p in model.named_parameters() if p.grad is not None}
    return loss, sums, gradients, reference and objective.measure_kl(batch)


def both(model, reference_of, records, kind, settings, **options):
    """The outcome of plain rows, and of packed ones."""
    for one in (model, reference_of):
        if one is not None:
            causal_model(one).set_attn_implementation("sdpa")
    reference = reference_of and Reference(reference_of, reference_of is model, settings.kl_estimator, None)
    plain = step_outcome(model, reference, records, kind, settings, False, **options)
    for one in (model, reference_of):
        if one is not None:
            use_shared_prefixes(causal_model(one))
    return plain, step_outcome(model, reference, records, kind, settings, True, **options)


def assert_equal_outcomes(plain, packed) -> None:
    assert packed[0] == pytest.approx(plain[0], rel=1e-5, abs=1e-6)
    assert packed[1] == pytest.approx(plain[1], rel=1e-5, abs=1e-5)
    assert plain[2].keys() == packed[2].keys()
    norm = torch.cat([gradient.flatten() for gradient in plain[2].values()]).norm()
    assert norm > 1e-3
    for name, gradient in plain[2].items():
        assert (packed[2][name] - gradient).norm() < 1e-5 * norm, name
    if plain[3] is not None:
        assert plain[3] > 1e-3 and packed[3] == pytest.approx(plain[3], rel=1e-5)


CASES = [
    ("grpo", {"loss_type": "grpo"}),
    ("grpo", {"loss_type": "dr_grpo", "max_completion_length": 9}),
    ("grpo", {"loss_type": "dapo", "entropy_coefficient": 0.02}),
    ("grpo", {"kl_coefficient": 0.1}),
    ("grpo", {"kl_coefficient": 0.1, "kl_bias_correction": True, "entropy_coefficient": 0.02}),
    ("grpo", {"kl_coefficient": 0.1, "kl_estimator": "exact", "entropy_coefficient": 0.02}),
    ("rwr", {}),
    ("rwr", {"kl_coefficient": 0.1, "kl_estimator": "exact"}),
    ("rwr", {"max_kl": 0.1}),
    ("supervised", {}),
]


@pytest.mark.parametrize("adapted", [True, False], ids=["adapter", "full weights"])
@pytest.mark.parametrize("case", range(len(CASES)))
def test_values_and_gradients_are_those_of_plain_rows(monkeypatch, case, adapted):
    monkeypatch.setattr(token_terms, "CHUNK_NUMBERS", 7 * VOCABULARY)
    monkeypatch.setattr(packing, "MIN_SHARED", 1 + case % 3)
    kind, changes = CASES[case]
    model = new_model(case, adapted)
    needs_reference = "kl_coefficient" in changes or "max_kl" in changes
    reference_of = (model if adapted else new_model(100 + case, False)) if needs_reference else None
    for seed, budget in ((case, 1000), (50 + case, 40), (90 + case, 5)):
        settings = job_settings(tokens_per_micro_batch=budget, **changes)
        pull_back = "max_kl" in changes
        assert_equal_outcomes(
            *both(model, reference_of, ragged(seed), kind, settings, pull_back=pull_back)
        )


@pytest.mark.parametrize("model_type", sorted(ARCHITECTURES))
def test_every_architecture_that_is_said_to_share_prefixes_does(model_type):
    config = {"head_dim": 4, "sliding_window": None} if model_type in ("mistral", "qwen3") else {}
    model = new_model(1, True, model_type, **config)
    assert can_share_prefixes(causal_model(model))
    records = [record for seed in (3, 4) for record in ragged(seed)]
    assert_equal_outcomes(*both(model, model, records, "grpo", job_settings(kl_coefficient=0.1)))


@pytest.mark.parametrize(
    ("model_type", "config"),
    [
        ("mistral", {"sliding_window": 8}),
        ("qwen2", {"use_sliding_window": True, "sliding_window": 8, "max_window_layers": 1}),
        ("granite", {}),
        ("gemma", {"head_dim": 4}),
    ],
)
def test_other_architectures_are_known_not_to(model_type, config):
    assert not can_share_prefixes(new_model(1, False, model_type, **config))


def test_a_head_with_an_adapter_is_known_not_to():
    wanted = ADAPTER.model_copy(update={"target_modules": ["q_proj", "lm_head"]})
    model = attach_adapter(new_model(1, False, tie_word_embeddings=False), None, wanted)
    assert not can_share_prefixes(causal_model(model))


class MasksSeen(TorchDispatchMode):
    """The masks that the kernels of attention get."""

    def __init__(self):
        super().__init__()
        self.masks: list[torch.Tensor] = []

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        mask = (kwargs or {}).get("attn_mask")
        self.masks += [] if mask is None else [mask]
        return function(*args, **(kwargs or {}))


@pytest.mark.parametrize("autocast", [None, torch.bfloat16], ids=str)
def test_attention_takes_a_mask_as_it_is(autocast):
    segments, masks, seen = (Segment(5, None), Segment(3, 0), Segment(6, 0)), {}, MasksSeen()
    query, key = torch.randn(1, 4, 14, 8), torch.randn(1, 2, 14, 8)
    with seen, torch.autocast("cpu", autocast, enabled=autocast is not None):
        for _ in range(2):
            shared_prefix_attention(None, query, key, key, None, segments=segments, masks=masks)
    assert masks.keys() == {(3, 8), (6, 11)}
    assert [mask.data_ptr() for mask in seen.masks] == [mask.data_ptr() for mask in masks.values()] * 2
    for (length, width), mask in masks.items():
        assert (mask.shape, mask.stride(1)) == ((2 * length, width), 1)
        assert mask.stride(0) % 8 == 0, "CUDA copies another one"
        hidden = [[0] * (width - length + row + 1) + [1] * (length - row - 1) for row in range(length)]
        assert mask.isinf().tolist() == torch.tensor(hidden * 2).bool().tolist()


def test_gradient_checkpointing_changes_nothing():
    model, records = new_model(2, True), ragged(2)
    _, expected = both(model, None, records, "grpo", job_settings())
    causal_model(model).gradient_checkpointing_enable({"use_reentrant": False})
    got = step_outcome(model, None, records, "grpo", job_settings(), True)
    assert_equal_outcomes(expected, got)


def masked(prompt: list[int], answer: list[int], temperature: float = 1.0) -> Record:
    mask = [0] * len(prompt) + [1] * len(answer)
    return Record("record", token_ids=prompt + answer, mask=mask, temperature=temperature)


def test_a_prompt_is_run_once_and_nothing_is_padded():
    prompt = list(range(1, 21))
    records = [masked(prompt, [number] * length) for number, length in ((22, 1), (23, 4), (24, 30))]
    (batch,) = packed_batches(records, 1000)
    assert batch.segments == (Segment(20, None), Segment(3, 0), Segment(29, 0))
    assert batch.positions_T.tolist() == [*range(20), *range(20, 23), *range(20, 49)]
    assert batch.mask_B_K.sum(1).tolist() == [1, 4, 30]
    sizes = [len(batch.token_ids_T) for batch in packed_batches(records, 40)]
    assert sizes == [20 + 3, 20 + 29], "a sequence that does not fit takes its prompt along"


def test_what_several_sequences_begin_with_is_run_once():
    system, tasks = list(range(1, 21)), [list(range(21, 31)), list(range(31, 41))]
    answers = [list(range(12)), list(range(12)), [*range(10), 40, 41], [*range(40, 45)]]
    records = [masked(system + task, answer) for task in tasks for answer in answers]
    (batch,) = packed_batches(records, 1000)
    # Of 8 sequences of 41 and 34 tokens: 20 of all, 10 of each task, 10 of three answers, then what differs.
    assert sorted(segment.length for segment in batch.segments) == [1, 1, 1, 1, 4, 4, 10, 10, 10, 10, 20]
    assert batch.segments[0] == Segment(20, None)
    assert batch.mask_B_K.sum() == 2 * (12 + 12 + 12 + 5)
    assert len(batch.places_U) == 2 * (12 + 2 + 5), "equal answers are computed once"


def test_equal_labels_at_two_temperatures_are_two():
    (batch,) = packed_batches([masked([1, 2], [3]), masked([1, 2], [3], 0.5), masked([1, 2], [3])], 1000)
    assert batch.temperature_U.tolist() == [1.0, 0.5]
    assert batch.table(torch.tensor([5.0, 6.0])).tolist() == [[5.0], [6.0], [5.0]]


def test_no_micro_batch_is_larger_than_its_budget_but_for_a_single_sequence():
    for seed in range(20):
        for budget in (5, 17, 40, 90):
            for batch in packed_batches(ragged(seed, groups=8), budget):
                assert len(batch.token_ids_T) <= budget or len(batch.mask_B_K) == 1


@pytest.mark.parametrize("adapted", [True, False], ids=["adapter", "full weights"])
def test_logits_are_kept_for_a_chunk_at_most(monkeypatch, adapted):
    monkeypatch.setattr(token_terms, "CHUNK_NUMBERS", 4 * VOCABULARY)
    model, records = new_model(3, adapted), ragged(3)
    reference = Reference(model if adapted else new_model(4, False), adapted, "exact", None)
    for one in (model, reference.model):
        use_shared_prefixes(causal_model(one))
    settings = job_settings(kl_coefficient=0.1, kl_estimator="exact", entropy_coefficient=0.01)
    objective = Objective("grpo", settings, model, reference, None, lambda: None, True)
    batch = StepBatch.of(records, 1000, CPU, True)
    weights = {parameter.data_ptr() for parameter in model.parameters()}
    rows = []

    def keep(tensor: torch.Tensor) -> torch.Tensor:
        if tensor.shape[-1:] == (VOCABULARY,) and tensor.data_ptr() not in weights:
            rows.append(tensor.numel() // VOCABULARY)
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        objective.accumulate_gradients(batch, False)
    # What a checkpointed chunk saves is seen by its own hooks alone.
    assert (0 < max(rows) <= 4) if adapted else rows == []
    assert batch.totals.active_tokens > 4
    kept = reference.values(0, batch.micro_batches[0])
    distinct = len(batch.micro_batches[0].labels_U)
    assert distinct < batch.totals.active_tokens and kept.shape == (distinct, SHAPE["hidden_size"])


@pytest.mark.parametrize("autocast", [None, torch.bfloat16], ids=str)
def test_the_gradient_of_a_head_is_added_up_in_the_numbers_of_its_weights(monkeypatch, autocast):
    monkeypatch.setattr(token_terms, "CHUNK_NUMBERS", VOCABULARY)
    torch.manual_seed(5)
    head, rows = torch.nn.Linear(16, VOCABULARY, bias=False), 300
    hidden, labels = torch.randn(rows, 16), torch.randint(VOCABULARY, (rows,))

    def gradient(part: slice) -> torch.Tensor:
        head.zero_grad()
        terms = LabelTerms(Head(head), labels[part], torch.ones(len(labels[part])))
        with torch.autocast("cpu", autocast, enabled=autocast is not None):
            logprobs, _ = terms.compute(hidden[part])
        logprobs.sum().backward()
        return head.weight.grad.clone()

    expected = sum(gradient(slice(row, row + 1)) for row in range(rows))
    assert (gradient(slice(rows)) - expected).norm() < 1e-5 * expected.norm()


@pytest.fixture(scope="module", params=["adapter", "full weights"])
def job(request, launcher, model, reference, tmp_path_factory):
    """A finished job of three steps on packed batches of several micro-batches, with an exact KL."""
    rng, prompts = random.Random(7), [[3, 4, 5, 6], [7, 8], [9, 10, 11]]
    records = []
    for row in range(36):
        record = sequence(rng, row // 12, group_id=str(row % 3))
        start, prompt = record["mask"].index(1), prompts[row % 3]
        for name, filling in (("token_ids", None), ("mask", 0), ("logprobs", 0.0)):
            before = prompt if filling is None else [filling] * len(prompt)
            record[name] = before + record[name][start:]
        records.append(record)
    settings = {"batch_layout": "packed", "tokens_per_micro_batch": 40}
    settings |= {"kl_coefficient": 0.1, "kl_estimator": "exact"}
    parts = {"adapter": ADAPTER.model_dump()} if request.param == "adapter" else {"reference": reference}
    folder = tmp_path_factory.mktemp("packed") / "work"
    return launcher.run(work_folder(folder, "grpo", records, model, settings, **parts))


def test_a_job_packs_where_its_model_can_and_is_told_to(job, tmp_path):
    for name, settings, kind, is_packed in (
        ("packed", {}, "grpo", True),
        ("padded", {"batch_layout": "padded"}, "grpo", False),
        ("measures", {}, "gradient_norms", False),
    ):
        folder = copy_inputs(job, tmp_path / name)
        change_job(folder, kind=kind, settings=settings)
        prepared = prepare_job(load_job(folder / "job.json"), WorkFolder(folder, 1), lambda: None)
        assert prepared._objective.packed == is_packed


def test_a_packed_job_ends_with_equal_bytes_after_a_kill(launcher, job, tmp_path):
    folder = copy_inputs(job, tmp_path / "work")
    launcher.run(folder, expect=137, GENENV_TRAINER_FAULT="exit:2")
    launcher.run(folder)
    assert outcome(folder) == outcome(job)


def test_a_packed_job_does_what_a_padded_one_does(launcher, job, tmp_path):
    folder = copy_inputs(job, tmp_path / "work")
    change_job(folder, settings={"batch_layout": "padded"})
    launcher.run(folder)
    packed, padded = read(job, "result.json"), read(folder, "result.json")
    assert packed["steps_done"] == 3
    for ours, expected in zip(packed["steps_log"], padded["steps_log"], strict=True):
        assert ours == pytest.approx(expected, rel=1e-4, abs=1e-6)
    assert packed["metrics"] == pytest.approx(padded["metrics"], rel=1e-4, abs=1e-6)
    configs = [(one / "output/checkpoint").glob("*config.json") for one in (job, folder)]
    assert [path.read_text() for path in configs[0]] == [path.read_text() for path in configs[1]]
