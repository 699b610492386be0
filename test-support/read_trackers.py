"""What trackers have of a run, read back by their own readers, as JSON: `read_trackers.py TRACKER PLACE [RUN]`.

`{"points": [[step, metric, value], ...], "config": ..., "tags": ..., "tables": {step: rows}, "references": {name: sha256}}`,
with every point that is there, also those that are there twice. Of W&B a folder of offline runs is read.
"""

import glob
import json
import os
import struct
import sys

BLOCK = 32768


def tensorboard(folder: str) -> dict:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    events = EventAccumulator(folder, size_guidance={"scalars": 0, "tensors": 0})
    events.Reload()
    scalars = events.Tags()["scalars"]
    points = [[point.step, name, point.value] for name in scalars for point in events.Scalars(name)]
    texts = {
        name: [
            [point.step, [text.decode() for text in point.tensor_proto.string_val]]
            for point in events.Tensors(name)
        ]
        for name in events.Tags()["tensors"]
    }
    return {
        "points": points,
        "config": json.loads(texts["config"][0][1][0]),
        "tags": {name: values[-1][1][0] for name, values in texts.items() if name.startswith("genenv/")},
        "tables": {step: cells for step, cells in texts.get("samples", [])},
        "references": {
            name.removeprefix("genenv/"): values[-1][1][0].split("(")[-1].rstrip(")")
            for name, values in texts.items()
            if name in ("genenv/agent", "genenv/simulator", "genenv/ledger")
        },
    }


def mlflow(uri: str, key: str) -> dict:
    from mlflow import MlflowClient

    client = MlflowClient(tracking_uri=uri)
    experiments = [experiment.experiment_id for experiment in client.search_experiments()]
    runs = client.search_runs(experiments, f"tags.`genenv.key` = '{key}'")
    assert len(runs) == 1, [run.info.run_id for run in runs]
    run = runs[0]
    points = [
        [metric.step, name, metric.value]
        for name in run.data.metrics
        for metric in client.get_metric_history(run.info.run_id, name)
    ]
    tables = {}
    for file in client.list_artifacts(run.info.run_id, "samples"):
        with open(client.download_artifacts(run.info.run_id, file.path), encoding="utf-8") as content:
            tables[int(file.path[-9:-5])] = json.load(content)["data"]
    tags = run.data.tags
    parent = tags.get("mlflow.parentRunId")
    return {
        "points": points,
        "config": run.data.params,
        "tags": {**tags, "parent": parent and client.get_run(parent).data.tags["genenv.key"]},
        "status": run.info.status,
        "tables": tables,
        "references": {
            name: tags[f"genenv.{name}.sha256"]
            for name in ("agent", "simulator", "ledger")
            if f"genenv.{name}.sha256" in tags
        },
    }


def trackio(project: str, key: str) -> dict:
    from trackio.sqlite_storage import SQLiteStorage

    runs = SQLiteStorage.get_runs(project)
    assert runs.count(key) == 1, runs
    rows = SQLiteStorage.get_logs(project, key)
    config = SQLiteStorage.get_run_config(project, key)
    numbers = [
        [row["step"], name, value]
        for row in rows
        for name, value in row.items()
        if isinstance(value, (int, float)) and name not in ("step", "committed_at")
    ]
    references = {
        name.split("/")[1]: value
        for row in rows
        for name, value in row.items()
        if name.startswith("genenv/") and name.endswith("/sha256")
    }
    return {
        "points": numbers,
        "config": config,
        "tags": {**config["genenv"], "group": config["_Group"]},
        "tables": {row["step"]: row["samples"]["_value"] for row in rows if "samples" in row},
        "references": references,
    }


def wandb_records(path: str):
    """The records of a .wandb file: LevelDB's log format, after a header of seven bytes."""
    from wandb.proto import wandb_internal_pb2

    with open(path, "rb") as file:
        data = file.read()
    assert data[:4] == b":W&B", data[:7]
    position, record = 7, b""
    while position + 7 <= len(data):
        left = BLOCK - position % BLOCK
        if left < 7:
            position += left
            continue
        _, length, kind = struct.unpack("<IHB", data[position : position + 7])
        position += 7
        record = (record if kind in (3, 4) else b"") + data[position : position + length]
        position += length
        if kind in (1, 4):
            yield wandb_internal_pb2.Record.FromString(record)


def wandb(folder: str, key: str) -> dict:
    paths = glob.glob(f"{folder}/{key}/wandb/offline-run-*-{key}/run-{key}.wandb")
    assert len(paths) == 1, paths
    points, tables, references, config, run = [], {}, {}, {}, None
    for record in wandb_records(paths[0]):
        kind = record.WhichOneof("record_type")
        if kind == "run" and run is None:
            run = record.run
            config = {item.key: json.loads(item.value_json) for item in run.config.update}
        if kind == "artifact" and record.artifact.type == "model":
            name = record.artifact.name.removeprefix(f"{key}-")
            references[name] = json.loads(record.artifact.metadata)["sha256"]
        if kind != "history":
            continue
        values = {"/".join(item.nested_key) or item.key: json.loads(item.value_json) for item in record.history.item}
        step = values.pop("_step")
        points += [
            [step, name, value]
            for name, value in values.items()
            if isinstance(value, (int, float)) and not name.startswith(("_", "samples/"))
        ]
        if "genenv/ledger" in values:
            references["ledger"] = values["genenv/ledger"]
        if "samples/path" in values:
            file = os.path.join(os.path.dirname(paths[0]), "files", values["samples/path"])
            with open(file, encoding="utf-8") as content:
                tables[step] = json.load(content)["data"]
    return {
        "points": points,
        "config": config,
        "tags": {**config["genenv"], "group": run.run_group, "id": run.run_id, "kinds": list(run.tags)},
        "tables": tables,
        "references": references,
    }


READERS = {"mlflow": mlflow, "tensorboard": tensorboard, "trackio": trackio, "wandb": wandb}
print("\n" + json.dumps(READERS[sys.argv[1]](*sys.argv[2:])))
