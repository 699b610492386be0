"""Supervised training of a pretrained model on ChatML texts: it learns the very tokens that it samples."""

import json
import runpy
import sys
from pathlib import Path

import pytest
from job_folders import read, work_folder
from safetensors.torch import load_file, save_file

from genenv_trainer.records import Record
from genenv_trainer.serving.prompts import encode
from genenv_trainer.serving.registry import Registry
from genenv_trainer.serving.responses import text_of
from genenv_trainer.serving.sampler import SamplingParams, sample
from genenv_trainer.tokenizer import tokenise

BYTE_MODEL = Path(__file__).parents[2] / "test-support" / "byte_model.py"
ADAPTER = {"r": 8, "alpha": 32, "dropout": 0, "target_modules": ["q_proj", "v_proj", "up_proj", "down_proj"]}
PROMPT = "<|im_start|>user\n{}<|im_end|>\n<|im_start|>assistant\n"
LESSONS = {PROMPT.format("2 times 3"): "mul(2, 3)", PROMPT.format("2 plus 3"): "add(2, 3)"}


@pytest.fixture(scope="module")
def pretrained(tmp_path_factory) -> Path:
    """A model whose tokenizer knows ChatML. Its last layer is scaled: what an adapter changes would not reach
    the distribution of a random one."""
    folder = tmp_path_factory.mktemp("byte-model")
    before, sys.argv = sys.argv, ["byte_model.py", str(folder)]
    runpy.run_path(str(BYTE_MODEL))
    sys.argv = before
    weights = load_file(folder / "model.safetensors")
    save_file(weights | {"lm_head.weight": weights["lm_head.weight"] * 20}, folder / "model.safetensors")
    return folder


@pytest.fixture(scope="module", params=["adapter", "full weights"])
def learnt(request, launcher, pretrained, tmp_path_factory) -> Path:
    """The work folder of a finished cold start."""
    rows = [{"prompt": prompt, "completion": text, "weight": 1} for prompt, text in LESSONS.items()]
    records = [row | {"step": step} for step in range(60) for row in rows]
    adapter = ADAPTER if request.param == "adapter" else None
    folder = tmp_path_factory.mktemp("cold") / "work"
    model = {"path": str(pretrained)}
    return launcher.run(work_folder(folder, "supervised", records, model, adapter=adapter))


@pytest.fixture
def served(learnt):
    """What the policy server makes of the result."""
    (learnt / "served").mkdir(exist_ok=True)
    entry = {"path": "output/checkpoint", "tokenizer": None}
    (learnt / "served" / "cold.json").write_text(json.dumps(entry))
    return Registry(learnt, capacity=1).get("cold")


def test_it_answers_as_it_was_taught_and_ends_its_turn(learnt, served):
    losses = [step["loss"] for step in read(learnt, "result.json")["steps_log"]]
    assert losses[-1] < 0.1 * losses[0]
    prompts = [encode(served, prompt, "prompt") for prompt in LESSONS]
    [rows] = sample(served.model, served.end_ids, [SamplingParams(prompts, 1, 0, 0, 30)])
    assert [row.finish_reason for row in rows] == ["stop", "stop"]
    assert [text_of(served.tokenizer, row.token_ids) for row in rows] == list(LESSONS.values())
    for row, (prompt, completion) in zip(rows, LESSONS.items(), strict=True):
        record = Record("record", prompt=prompt, completion=completion)
        tokenise([record], served.tokenizer)
        cut = record.mask.index(1)
        assert record.token_ids[:cut] == encode(served, prompt, "prompt")
        assert record.token_ids[cut:] == row.token_ids


def test_later_turns_are_tokens_of_their_texts(served):
    more = [{"read": "<|im_end|>\nno\n", "write": "add(1, 1)"}]
    record = Record("record", prompt="a", completion="b", more=more)
    tokenise([record], served.tokenizer)
    read_text, wrote = (encode(served, text, "prompt", add_special_tokens=False) for text in more[0].values())
    start, end = encode(served, "a", "prompt"), [served.tokenizer.eos_token_id]
    first = encode(served, "b", "prompt", add_special_tokens=False)
    assert record.token_ids == start + first + end + read_text + wrote + end
    lengths = [len(start), len(first) + 1, len(read_text), len(wrote) + 1]
    assert record.mask == [bit for bit, length in zip((0, 1, 0, 1), lengths) for _ in range(length)]


def test_a_tokenizer_file_that_asks_for_padding_pads_nothing(served):
    served.tokenizer.backend_tokenizer.enable_padding(length=50)
    served.tokenizer.backend_tokenizer.enable_truncation(1)
    record = Record("record", prompt="abc", completion="de")
    tokenise([record], served.tokenizer)
    assert record.token_ids == encode(served, "abcde", "prompt") + [served.tokenizer.eos_token_id]
