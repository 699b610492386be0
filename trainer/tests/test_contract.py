"""The files of test/contract/fixtures, which the worker's tests read too: what is written here is what is
read there."""

import json
from pathlib import Path

import pytest
from job_folders import ADAPTER, progress, read, sequences, work_folder
from pydantic import BaseModel

from genenv_trainer import records
from genenv_trainer.errors import InvalidArtifact, InvalidConfig
from genenv_trainer.job_config import JobConfig, load_job
from genenv_trainer.tokenizer import character_tokenizer, tokenise
from genenv_trainer.work_folder import seal

FIXTURES = Path(__file__).parents[2] / "test" / "contract" / "fixtures"
KINDS = sorted(records.LINES)
LINE_TYPES = [records.TextLine, *records.LINES.values()]


def fixture(name: str) -> list:
    """The values of a fixture: one, or one a line."""
    text = (FIXTURES / name).read_text("utf-8")
    return [json.loads(part) for part in (text.splitlines() if name.endswith(".jsonl") else [text])]


def job_of(folder: Path, value: object) -> JobConfig:
    (folder / "job.json").write_text(seal(value), "utf-8")
    return load_job(folder / "job.json")


def read_batch(folder: Path, kind: str, values: list) -> list[list[records.Record]]:
    (folder / "batch.jsonl").write_text("".join(json.dumps(value) + "\n" for value in values), "utf-8")
    (job,) = fixture(f"job-{kind}.json")
    return records.read_records(folder / "batch.jsonl", kind, job_of(folder, job).settings)


def fields_of(value: object, prefix: str = "") -> set[str]:
    """Dotted names of all fields in a value; elements of a list share theirs."""
    if isinstance(value, list):
        return {name for item in value for name in fields_of(item, prefix)}
    if not isinstance(value, dict):
        return set()
    return {f"{prefix}{key}" for key in value}.union(
        *(fields_of(inner, f"{prefix}{key}.") for key, inner in value.items())
    )


def model_fields(model: type[BaseModel], prefix: str = "") -> set[str]:
    """Dotted names of all fields that a model knows."""
    names = set()
    for name, field in model.model_fields.items():
        names.add(f"{prefix}{name}")
        for option in [field.annotation, *getattr(field.annotation, "__args__", ())]:
            if isinstance(option, type) and issubclass(option, BaseModel):
                names |= model_fields(option, f"{prefix}{name}.")
    return names


@pytest.mark.parametrize("kind", KINDS)
def test_job_is_read(tmp_path, kind):
    (value,) = fixture(f"job-{kind}.json")
    job = job_of(tmp_path, value)
    assert job.kind == kind
    assert job.model_dump(mode="json", exclude_none=True) == without_nulls(value)


def without_nulls(value: object) -> object:
    if not isinstance(value, dict):
        return value
    return {key: without_nulls(inner) for key, inner in value.items() if inner is not None}


def test_jobs_have_every_field():
    present = {name for kind in KINDS for name in fields_of(fixture(f"job-{kind}.json"))}
    assert model_fields(JobConfig) - present == set()


@pytest.mark.parametrize("kind", KINDS)
def test_batch_is_read(tmp_path, kind):
    values = fixture(f"batch-{kind}.jsonl")
    read_back = [record for step in read_batch(tmp_path, kind, values) for record in step]
    assert len(read_back) == len(values)
    for record, value in zip(read_back, values):
        text_type = records.DialogueLine if "more" in value else records.TextLine
        line_type = text_type if "prompt" in value else records.LINES[kind]
        assert model_fields(line_type) - fields_of(value) == set()
        for name in set(line_type.model_fields) - {"step", "policy_version"}:
            assert getattr(record, name) == value[name]


def mutated(value: dict, path: list, change: dict) -> dict:
    parent = value
    for key in path[:-1]:
        parent = parent[key]
    if change.get("remove"):
        del parent[path[-1]]
    else:
        parent[path[-1]] = change["value"]
    return value


def mutations(prefix: str) -> list:
    return [
        pytest.param(m, id=f"{m['fixture']} {m['field']}")
        for m in fixture("mutations.json")[0]
        if m["fixture"].startswith(prefix)
    ]


@pytest.mark.parametrize("mutation", mutations("job-"))
def test_mutated_job_is_refused_by_field(tmp_path, mutation):
    value = mutated(fixture(mutation["fixture"])[0], mutation["mutation"]["path"], mutation["mutation"])
    with pytest.raises(InvalidConfig) as error:
        job_of(tmp_path, value)
    assert str(error.value).startswith(f"job.json.{mutation['field']}: ")


@pytest.mark.parametrize("mutation", mutations("batch-"))
def test_mutated_record_is_refused_by_field(tmp_path, mutation):
    first, *rest = fixture(mutation["fixture"])
    kind = mutation["fixture"].removeprefix("batch-").removesuffix(".jsonl")
    values = [mutated(first, mutation["mutation"]["path"], mutation["mutation"]), *rest]
    with pytest.raises(InvalidArtifact) as error:
        read_batch(tmp_path, kind, values)
    assert str(error.value).startswith(f"batch.jsonl record 1, field {mutation['field']!r}: ")


@pytest.fixture(scope="module")
def finished(launcher, model, english_model, reference, tmp_path_factory) -> dict[str, Path]:
    """A finished job of each kind that has a result among the fixtures."""
    folder = tmp_path_factory.mktemp("contract")
    uninformative = [record | {"advantage": 0} if record["step"] else record for record in sequences(2)]
    group = sequences(1, rows=2)
    grpo = work_folder(folder / "grpo", "grpo", uninformative, model, {"max_kl": 100}, reference=reference)
    norms = work_folder(
        folder / "norms", "gradient_norms", [record | {"group_id": "g"} for record in group], model
    )
    adapter = work_folder(folder / "rwr", "rwr", sequences(1), english_model, adapter=ADAPTER)
    return {name: launcher.run(job) for name, job in (("grpo", grpo), ("gradient_norms", norms), ("rwr", adapter))}


def shape(value: object) -> object:
    """A JSON value with the name of its type in place of every leaf."""
    if isinstance(value, dict):
        return {key: shape(inner) for key, inner in value.items() if key != "sha256"}
    if isinstance(value, list):
        return [shape(item) for item in value]
    return "number" if type(value) in (int, float) else type(value).__name__


@pytest.mark.parametrize("kind", ["grpo", "gradient_norms", "rwr"])
def test_result_is_what_a_job_writes(finished, kind):
    (expected,) = fixture(f"result-{kind}.json")
    assert shape(read(finished[kind], "result.json")) == shape(expected)


def test_exit_is_what_a_job_writes(finished):
    (expected,) = fixture("exit.json")
    assert shape(read(finished["grpo"], "exit.json")) == shape(expected)


def test_progress_is_what_a_job_writes(finished):
    known = {line["phase"]: shape(line) for line in fixture("progress.jsonl") if line["phase"] != "waiting"}
    lines = fixture("progress.jsonl")
    assert {line["phase"] for line in progress(finished["grpo"])} == set(known)
    for line in progress(finished["grpo"]):
        assert shape(line) in [shape(expected) for expected in lines]


def test_characters_have_the_ids_of_the_fixture():
    (characters,) = fixture("characters.json")
    tokenizer = character_tokenizer(characters["vocabulary"])
    for dialogue in characters["dialogues"]:
        token_ids, mask = [], []
        for index, text in enumerate(dialogue["texts"]):
            ids = tokenizer(text).input_ids + [tokenizer.eos_token_id] * (index % 2)
            token_ids += ids
            mask += [index % 2] * len(ids)
        assert (token_ids, mask) == (dialogue["token_ids"], dialogue["mask"])
    for text in characters["refused"]:
        with pytest.raises(Exception, match="WordLevel"):
            tokenizer(text)


def test_texts_become_the_tokens_of_their_dialogue(tmp_path):
    (characters,) = fixture("characters.json")
    ((one_turn,), _, (two_turns,)) = read_batch(tmp_path, "supervised", fixture("batch-supervised.jsonl"))
    for record, dialogue in zip([one_turn, two_turns], characters["dialogues"], strict=True):
        later = [text for turn in record.more or () for text in (turn["read"], turn["write"])]
        assert [record.prompt, record.completion, *later] == dialogue["texts"]
    tokenise([one_turn, two_turns], character_tokenizer(characters["vocabulary"]))
    for record, dialogue in zip([one_turn, two_turns], characters["dialogues"], strict=True):
        assert (record.token_ids, record.mask) == (dialogue["token_ids"], dialogue["mask"])
