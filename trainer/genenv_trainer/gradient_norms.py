"""How large a gradient each rollout gives at a policy that is not changed: GenEnv, Proposition 1."""

import math

import torch

from genenv_trainer import fault_injection
from genenv_trainer.batch import micro_batches
from genenv_trainer.checkpoints import StepCheckpoints
from genenv_trainer.errors import InvalidArtifact
from genenv_trainer.forward import label_logprobs, log_distribution
from genenv_trainer.job_config import JobConfig
from genenv_trainer.models import Policy
from genenv_trainer.records import Record
from genenv_trainer.step import Objective
from genenv_trainer.work_folder import WorkFolder


class GradientNorms:
    """A job that measures: one forward and one backward pass a record, no optimizer step, no weights written.

    A step of the batch is one group of records, whose means go to result.json as `groups`. Between two groups
    the job may be stopped; it resumes from the groups that are in its newest step checkpoint.
    """

    def __init__(
        self,
        job: JobConfig,
        work: WorkFolder,
        policy: Policy,
        objective: Objective,
        steps: list[list[Record]],
        device: torch.device,
    ):
        policy.model.eval()  # as it was sampled from: no dropout
        self._job, self._work, self._objective = job, work, objective
        self._steps, self._device = steps, device
        self._parameters = list(policy.trainable().values())
        self._ranks = objective.ranks
        self._checkpoints = StepCheckpoints(work, job.input_hash, self._ranks)
        self._checkpointed_step = 0
        self._groups: list[dict] = []
        self._largest_difference = 0.0

    @property
    def step(self) -> int:
        """Groups measured so far."""
        return len(self._groups)

    def resume(self) -> int | None:
        """Load the newest complete step checkpoint. Returns its step, or None if there is none."""
        found = self._checkpoints.read_newest()
        if found is None:
            return None
        _, _, state = found
        self._groups, self._largest_difference = state["groups"], state["largest_difference"]
        self._checkpointed_step = self.step
        return self.step

    def run(self) -> None:
        """Measure every group that is left. Raises what the objective's check raises."""
        while self.step < len(self._steps):
            self._ranks.agree(
                lambda: fault_injection.before_step(self.step, self._work.path, self._ranks.rank)
            )
            self._groups.append(self._measure(self._steps[self.step]))
            self._work.progress("step", self.step, len(self._steps), None)
            if self.step % self._job.checkpoint_every == 0 and self.step < len(self._steps):
                self.save_checkpoint()

    def save_checkpoint(self) -> None:
        """Write what was measured so far, unless it is on disk already."""
        if self.step == self._checkpointed_step:
            return
        state = {"groups": self._groups, "largest_difference": self._largest_difference}
        self._checkpoints.write(self.step, {}, {}, state)
        self._checkpointed_step = self.step

    def result(self) -> dict:
        return {
            "format": 1,
            "input_hash": self._job.input_hash,
            "kind": self._job.kind,
            "steps": len(self._steps),
            "steps_done": self.step,
            "skipped": None,
            "skipped_steps": {},
            "kl": {"before": None, "after": None, "rule": "none"},
            "metrics": {"sampling/sampling_logp_difference/max": self._largest_difference},
            "steps_log": [],
            "groups": self._groups,
        }

    def _measure(self, records: list[Record]) -> dict:
        """Means over the records of one group."""
        groups = sorted({str(record.group_id) for record in records})
        if len(groups) != 1:
            where = records[0].where if records else "an empty step"
            raise InvalidArtifact(f"{where}: a step of gradient_norms is one group, got {groups}")
        scores = []
        answers = self._ranks.in_order(
            len(records), lambda index: self._squared_score(records[index]), self._objective.check
        )
        for score, difference in answers:
            scores.append(score)
            self._largest_difference = max(self._largest_difference, difference)
        norms = [record.advantage**2 * score for record, score in zip(records, scores)]
        count = len(records)
        return {
            "group_id": records[0].group_id,
            "rollouts": count,
            "squared_norm": sum(norms) / count,
            "squared_score": sum(scores) / count,
            "tokens": sum(sum(record.mask) for record in records) / count,
        }

    def _squared_score(self, record: Record) -> tuple[float, float]:
        """||grad log pi(y|x)||^2 over the trainable weights, y the sampled tokens, which an advantage A scales by
        A^2; and the largest difference of their log-probabilities from the sampler's."""
        if not any(record.mask):
            return 0.0, 0.0
        (batch,) = micro_batches([record], len(record.token_ids))
        batch = batch.to(self._device)
        logprobs_1_K = label_logprobs(
            log_distribution(self._objective.model, batch, self._objective.autocast), batch
        )
        difference = ((logprobs_1_K - batch.logprobs_B_K).abs() * batch.mask_B_K).max().item()
        gradients = torch.autograd.grad(
            (logprobs_1_K * batch.mask_B_K).sum(), self._parameters, allow_unused=True
        )
        score = sum(gradient.double().pow(2).sum().item() for gradient in gradients if gradient is not None)
        if not math.isfinite(score):
            raise InvalidArtifact(
                f"{record.where}: the gradient of its log-probability is {score}; look at the checkpoint"
            )
        return score, difference
