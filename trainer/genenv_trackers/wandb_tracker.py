"""W&B by its SDK. Online, a run is resumed under its id, and W&B says which step it has. Offline, no process can add
to the folder of another: the run is written anew from the ledger, and folders of earlier processes are
removed, so that `wandb sync` finds each step once."""

import os
import shutil

import wandb

from genenv_trackers import faults
from genenv_trackers.tracker import Cell, TrackedRun, Tracker

OFFLINE_FOLDERS = "offline-run-*-{key}"


class WandbTracker(Tracker):
    def open(self, run: TrackedRun) -> int | None:
        if run.uri is not None:
            os.environ["WANDB_BASE_URL"] = run.uri
        online = is_online()
        if not online:
            for old in (run.folder / "wandb").glob(OFFLINE_FOLDERS.format(key=run.key)):
                shutil.rmtree(old)
        lineage = {**run.tags, "supersedes": run.supersedes}
        if run.fork is not None:
            lineage["fork"] = vars(run.fork)
        kinds = ["fork"] * (run.fork is not None) + ["rewind"] * (run.supersedes is not None)
        self._key = run.key
        self._run = wandb.init(
            project=run.project,
            id=run.key,
            name=run.name[:128],
            group=run.group,
            tags=kinds,
            config={**run.config, "genenv": lineage},
            allow_val_change=True,
            mode="online" if online else "offline",
            resume="allow" if online else None,
            dir=run.folder,
            settings=wandb.Settings(
                console="off",
                disable_git=True,
                disable_code=True,
                save_code=False,
                silent=True,
                init_timeout=60,
                x_disable_machine_info=True,
                x_disable_meta=True,
                x_disable_stats=True,
                x_save_requirements=False,
            ),
        )
        faults.strike("open")
        # `step` is 0 until the first `log`; this is what W&B said.
        return self._run.starting_step - 1 if self._run.starting_step > 0 else None

    def log(self, step: int, metrics: dict[str, float], time: float) -> None:
        self._run.log({**metrics, "_timestamp": time}, step=step, commit=True)

    def table(self, step: int, name: str, columns: list[str], rows: list[list[Cell]]) -> None:
        table = wandb.Table(columns=columns, data=rows, allow_mixed_types=True)
        self._run.log({name: table}, step=step, commit=False)

    def reference(self, step: int, name: str, uri: str, sha256: str) -> None:
        kind = "ledger" if name == "ledger" else "model"
        self._run.log({f"genenv/{name}": sha256}, step=step, commit=False)
        if kind == "ledger":
            return
        # Of an address that W&B cannot open itself, it keeps the text.
        artifact = wandb.Artifact(f"{self._key}-{name}", type=kind, metadata={"epoch": step, "sha256": sha256})
        artifact.add_reference(uri, name=name, checksum=False)
        self._run.log_artifact(artifact, aliases=[f"epoch-{step}"])

    def close(self, outcome: str | None) -> None:
        self._run.finish(exit_code=1 if outcome == "failed" else 0)


def is_online() -> bool:
    """As WANDB_MODE says; without it, online if there is a key to log in with."""
    mode = os.environ.get("WANDB_MODE")
    return mode == "online" if mode else bool(os.environ.get("WANDB_API_KEY"))
