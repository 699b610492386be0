"""MLflow by its client: a tracking server, or a database that this process opens itself.

MLflow gives runs their ids, so a run is found by its tag `genenv.key`, which it has from the request that creates it.
One request logs an epoch, its tag `genenv.last_step` last; a point that the database has already (same metric,
step, time and value) is dropped by MLflow. So whatever a kill leaves is completed by sending the epoch again.
"""

import os
import re

# Before the import: the process that asks waits, and asks again.
os.environ.setdefault("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "1")
os.environ.setdefault("MLFLOW_HTTP_REQUEST_TIMEOUT", "20")
os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")

from mlflow import MlflowClient  # noqa: E402
from mlflow.entities import Metric, Param, Run, RunTag  # noqa: E402
from mlflow.exceptions import MlflowException  # noqa: E402

from genenv_trackers import faults  # noqa: E402
from genenv_trackers.tracker import Cell, Refused, TrackedRun, Tracker, flatten  # noqa: E402

LAST_STEP = "genenv.last_step"
KEY = "genenv.key"
MAX_METRICS = 1000
MAX_PARAMS = 100
MAX_PARAM = 6000
STATUS = {"finished": "FINISHED", "failed": "FAILED", "stopped": "KILLED"}
ADDRESS = re.compile(r"(https?|sqlite|postgresql|mysql|mssql)(\+\w+)?:|databricks")


class MlflowTracker(Tracker):
    def open(self, run: TrackedRun) -> int | None:
        database = f"sqlite:///{run.folder.parent / 'mlflow.db'}"
        uri = run.uri or os.environ.get("MLFLOW_TRACKING_URI") or database
        if ADDRESS.match(uri) is None:
            raise Refused(
                f"uri: got {uri[:200]!r}; allowed: an http or https address, or a database such as {database}. "
                "MLflow's folders of files would keep a step that is sent again twice"
            )
        self._client = MlflowClient(tracking_uri=uri)
        self._tags: dict[str, str] = {}
        artifacts = (run.folder.parent / "mlflow-artifacts").as_uri() if uri == database else None
        self._experiment = self._experiment_id(run.project, artifacts)
        found = self._find(run.key) or self._create(run)
        faults.strike("open")
        self._run = found.info.run_id
        if found.info.status != "RUNNING":
            self._client.update_run(self._run, status="RUNNING")
        self._log_config(found, run)
        if run.supersedes is not None and (old := self._find(run.supersedes)) is not None:
            self._client.set_tag(old.info.run_id, "genenv.superseded_by", run.key)
        last = found.data.tags.get(LAST_STEP)
        return None if last is None else int(last)

    def log(self, step: int, metrics: dict[str, float], time: float) -> None:
        milliseconds = round(time * 1000)
        points = [Metric(metric_name(name), value, milliseconds, step) for name, value in metrics.items()]
        while len(points) > MAX_METRICS:
            self._client.log_batch(self._run, metrics=points[:MAX_METRICS])
            points = points[MAX_METRICS:]
        tags = [RunTag(name, value) for name, value in {**self._tags, LAST_STEP: str(step)}.items()]
        self._client.log_batch(self._run, metrics=points, tags=tags)
        self._tags = {}

    def table(self, step: int, name: str, columns: list[str], rows: list[list[Cell]]) -> None:
        # The form of `mlflow.log_table`, which would add the rows of a repeated epoch to those that are there.
        self._client.log_dict(self._run, {"columns": columns, "data": rows}, f"{name}/epoch-{step:04}.json")

    def reference(self, step: int, name: str, uri: str, sha256: str) -> None:
        self._client.log_dict(
            self._run, {"step": step, "uri": uri, "sha256": sha256}, f"references/epoch-{step:04}/{name}.json"
        )
        self._tags[f"genenv.{name}.uri"] = uri
        self._tags[f"genenv.{name}.sha256"] = sha256

    def close(self, outcome: str | None) -> None:
        if outcome is not None:
            self._client.set_terminated(self._run, STATUS[outcome])

    def _experiment_id(self, project: str, artifacts: str | None) -> str:
        found = self._client.get_experiment_by_name(project)
        if found is None:
            try:
                return self._client.create_experiment(project, artifact_location=artifacts)
            except MlflowException as error:
                if error.error_code != "RESOURCE_ALREADY_EXISTS":
                    raise
            found = self._client.get_experiment_by_name(project)
        if found is None or found.lifecycle_stage != "active":
            raise Refused(
                f"project: got {project!r}, an experiment that was deleted in MLflow; restore it, or name another"
            )
        return found.experiment_id

    def _find(self, key: str) -> Run | None:
        """The run with this key. If a process was killed while it waited for a slow server, there may be two: the older
        one counts, and the other, which nobody has logged to, is deleted."""
        runs = self._client.search_runs([self._experiment], f"tags.`{KEY}` = '{key}'", max_results=10)
        runs = sorted(runs, key=lambda run: (LAST_STEP not in run.data.tags, run.info.start_time, run.info.run_id))
        for extra in runs[1:]:
            if LAST_STEP not in extra.data.tags:
                self._client.delete_run(extra.info.run_id)
        return runs[0] if runs else None

    def _create(self, run: TrackedRun) -> Run:
        tags = {**run.tags, KEY: run.key, "genenv.group": run.group}
        if run.supersedes is not None:
            tags["genenv.supersedes"] = run.supersedes
        if run.fork is not None:
            parent = self._find(run.fork.key)
            if parent is not None:
                tags["mlflow.parentRunId"] = parent.info.run_id
            tags["genenv.fork.run"] = run.fork.run
            tags["genenv.fork.epoch"] = str(run.fork.epoch)
            tags["genenv.fork.ledger"] = run.fork.ledger
        return self._client.create_run(self._experiment, tags=tags, run_name=run.name)

    def _log_config(self, found: Run, run: TrackedRun) -> None:
        """Parameters never change in MLflow: those that are there stay, and retunes are in the metrics `settings/…`."""
        known = found.data.params
        params = [Param(name, value[:MAX_PARAM]) for name, value in flatten(run.config).items() if name not in known]
        for start in range(0, len(params), MAX_PARAMS):
            self._client.log_batch(self._run, params=params[start : start + MAX_PARAMS])


def metric_name(name: str) -> str:
    """MLflow takes letters, digits and some signs; the others become underscores."""
    return re.sub(r"[^\w\-./: ]", "_", name)
