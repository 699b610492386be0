"""The canary of a result is what another library computes from the folders that the job wrote."""

import pytest
import torch
from job_folders import ADAPTER, read, sequences, work_folder
from transformers import AutoModelForCausalLM, AutoTokenizer

from genenv_trainer import canary


@pytest.fixture(scope="module")
def adapted(launcher, english_model, tmp_path_factory):
    folder = tmp_path_factory.mktemp("canary") / "work"
    return launcher.run(work_folder(folder, "rwr", sequences(2), english_model, adapter=ADAPTER))


def likeliest(model, prompt):
    with torch.no_grad():
        logprobs = torch.log_softmax(model(torch.tensor([prompt])).logits[0, -1], dim=-1)
    return logprobs, logprobs.topk(canary.LIKELIEST).indices.tolist()


def test_it_is_what_the_saved_folders_give(adapted, english_model):
    from peft import AutoPeftModelForCausalLM

    measured = read(adapted, "result.json")["canary"]
    checkpoint = adapted / "output" / "checkpoint"
    tokenizer = AutoTokenizer.from_pretrained(checkpoint)
    ids = tokenizer(canary.TEXT, add_special_tokens=False)["input_ids"][: canary.MAX_TOKENS]
    assert [len(place["prompt"]) for place in measured] == [6, 12, 18, 24, 30, 36, 42, 48]
    models = {
        "adapter": AutoPeftModelForCausalLM.from_pretrained(checkpoint).eval(),
        "base": AutoModelForCausalLM.from_pretrained(english_model["path"]).eval(),
    }
    for place in measured:
        assert place["prompt"] == ids[: len(place["prompt"])]
        for name, model in models.items():
            logprobs, tokens = likeliest(model, place["prompt"])
            assert place[name]["token_ids"] == tokens
            assert place[name]["logprobs"] == pytest.approx(logprobs[tokens].tolist(), abs=1e-5)
    differences = [
        abs(likeliest(models["base"], place["prompt"])[0][token].item() - logprob)
        for place in measured
        for token, logprob in zip(place["adapter"]["token_ids"], place["adapter"]["logprobs"], strict=True)
    ]
    assert sum(differences) / len(differences) > 1e-3


def test_a_job_without_a_step_has_that_of_the_weights_it_was_given(launcher, adapted, tmp_path):
    start = {"path": str(adapted / "output" / "checkpoint")}
    idle = launcher.run(work_folder(tmp_path / "idle", "rwr", [], start, adapter=ADAPTER))
    assert read(idle, "result.json")["canary"] == read(adapted, "result.json")["canary"]


def test_full_weights_have_none(policy):
    assert read(policy, "result.json")["canary"] is None


def test_a_tokenizer_that_refuses_the_text_costs_the_canary_alone(launcher, model, tmp_path):
    folder = launcher.run(work_folder(tmp_path / "small", "rwr", sequences(1), model, adapter=ADAPTER))
    assert read(folder, "result.json")["canary"] is None
    assert "no canary: the tokenizer refuses its text" in (folder / "log.txt").read_text()
