"""How far a training job is: the steps that it did, and those that it skipped and why."""

from dataclasses import dataclass, field

from genenv_trainer.batch import totals
from genenv_trainer.job_config import JobConfig
from genenv_trainer.metrics import job_metrics
from genenv_trainer.records import Record


@dataclass
class JobProgress:
    """Written into every step checkpoint, and the source of result.json."""

    step: int = 0
    """Steps that were tried, done or not."""
    steps_done: int = 0
    ended: bool = False
    skipped: dict[str, int] = field(default_factory=dict)
    """Steps that changed nothing, by reason."""
    kl_before: float | None = None
    kl_after: float | None = None
    kl_rule: str = "none"
    steps_log: list[dict] = field(default_factory=list)
    metrics: list[dict] = field(default_factory=list)

    def skip(self, step: int, reason: str, log: dict | None = None) -> None:
        """Count a step that changed nothing."""
        self.skipped[reason] = self.skipped.get(reason, 0) + 1
        self.steps_log.append({"step": step, "skipped": reason} | (log or {}))

    def result(self, job: JobConfig, steps: int) -> dict:
        """The content of result.json for a job of so many `steps`."""
        return {
            "format": 1, "input_hash": job.input_hash, "kind": job.kind, "steps": steps,
            "steps_done": self.steps_done, "skipped": self._skipped_job(steps), "skipped_steps": self.skipped,
            "kl": {"before": self.kl_before, "after": self.kl_after, "rule": self.kl_rule},
            "metrics": job_metrics(self.metrics), "steps_log": self.steps_log,
        }

    def _skipped_job(self, steps: int) -> str | None:
        """Why the job did no step at all; of several reasons the first."""
        if steps == 0:
            return "empty_batch"
        return next(iter(self.skipped)) if self.steps_done == 0 and self.skipped else None


def skip_reason(kind: str, records: list[Record], min_informative_groups: int) -> str | None:
    """Why a step has nothing to learn from: no active weighted token, or too few groups with an advantage
    other than 0."""
    if not records or totals(records).weighted_tokens == 0:
        return "empty_batch"
    informative = {record.group_id for record in records if record.advantage != 0}
    if kind == "grpo" and len(informative) < min_informative_groups:
        return "too_few_informative_groups"
    return None
