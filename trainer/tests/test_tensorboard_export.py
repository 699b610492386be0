"""TensorBoard files of a run's metrics.jsonl, read back with TensorBoard's own reader."""

import json
import os
import subprocess
import sys
from datetime import datetime, timezone
from pathlib import Path

import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from genenv_trainer.tensorboard_export import export, main

TRAINER = Path(__file__).parents[1]


def line(epoch: int, **metrics: float | None) -> str:
    at = datetime(2026, 11, 21, 9, 0, epoch, tzinfo=timezone.utc).isoformat().replace("+00:00", "Z")
    return (
        json.dumps({"epoch": epoch, "metrics": metrics, "time": {"rollOut": 1.5, "epoch": 3.0}, "at": at})
        + "\n"
    )


@pytest.fixture
def run_folder(tmp_path: Path) -> Path:
    lines = [line(0, **{"eval/heldout": 0.25}), line(1, reward=0.5, **{"env/kl": None}), line(2, reward=0.75)]
    (tmp_path / "metrics.jsonl").write_text("".join(lines))
    return tmp_path


def read(folder: Path) -> EventAccumulator:
    events = EventAccumulator(str(folder))
    events.Reload()
    return events


def test_every_metric_and_phase_by_epoch(run_folder: Path) -> None:
    events = read(export(run_folder))
    assert [(event.step, event.value) for event in events.Scalars("reward")] == [(1, 0.5), (2, 0.75)]
    assert [(event.step, event.value) for event in events.Scalars("eval/heldout")] == [(0, 0.25)]
    assert [event.value for event in events.Scalars("time/rollOut")] == [1.5, 1.5, 1.5]
    assert (
        events.Scalars("reward")[0].wall_time
        == datetime(2026, 11, 21, 9, 0, 1, tzinfo=timezone.utc).timestamp()
    )
    assert "env/kl" not in events.Tags()["scalars"]


def test_written_anew_without_leftovers(run_folder: Path) -> None:
    export(run_folder)
    with (run_folder / "metrics.jsonl").open("a") as file:
        file.write(line(3, reward=1.0))
    events = read(export(run_folder))
    assert [event.step for event in events.Scalars("reward")] == [1, 2, 3]
    assert sorted(path.name for path in run_folder.iterdir()) == ["metrics.jsonl", "tensorboard"]
    assert len(list((run_folder / "tensorboard").iterdir())) == 1


def test_torn_line_and_repeated_epoch(run_folder: Path) -> None:
    with (run_folder / "metrics.jsonl").open("a") as file:
        file.write(line(2, reward=0.125) + '{"epoch": 3, "metr')
    events = read(export(run_folder))
    assert [(event.step, event.value) for event in events.Scalars("reward")] == [(1, 0.5), (2, 0.125)]


def test_folder_without_metrics(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(tmp_path)]) == 2
    assert "no metrics.jsonl there" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("link", ["run", "run/metrics.jsonl", "run/tensorboard"])
def test_follows_no_link(tmp_path: Path, link: str, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "run" / "tensorboard").mkdir(parents=True)
    (tmp_path / "run" / "metrics.jsonl").write_text(line(1, reward=0.5))
    (tmp_path / link).rename(tmp_path / "elsewhere")
    (tmp_path / link).symlink_to(tmp_path / "elsewhere")
    before = sorted(tmp_path.rglob("*"))
    assert main([str(tmp_path / "run")]) == 2
    assert f"{tmp_path / link}: it is a link" in capsys.readouterr().err
    assert sorted(tmp_path.rglob("*")) == before


def test_metrics_that_become_a_link_or_a_pipe_are_not_read(run_folder: Path) -> None:
    metrics = run_folder / "metrics.jsonl"
    metrics.rename(run_folder / "elsewhere")
    metrics.symlink_to(run_folder / "elsewhere")
    with pytest.raises(OSError, match="symbolic links"):
        export(run_folder)
    metrics.unlink()
    os.mkfifo(metrics)
    with pytest.raises(OSError, match="not a file"):
        export(run_folder)
    assert not (run_folder / "tensorboard").exists()


def test_imports_no_torch(run_folder: Path) -> None:
    code = (
        "import sys, genenv_trainer.tensorboard_export as t; "
        f"t.main([{str(run_folder)!r}]); sys.exit('torch' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=TRAINER, timeout=60)
