"""One training job from loaded inputs to output folder: the loop over optimizer steps."""

import dataclasses
from pathlib import Path

import torch

from genenv_trainer import fault_injection
from genenv_trainer.canary import measure_canary
from genenv_trainer.checkpoints import StepCheckpoints
from genenv_trainer.errors import JobError, NotFinite, Orphaned, Terminated
from genenv_trainer.job_config import JobConfig
from genenv_trainer.job_progress import JobProgress, skip_reason
from genenv_trainer.metrics import step_metrics
from genenv_trainer.models import Policy
from genenv_trainer.optimizer import Optimizer
from genenv_trainer.parts import gather_whole, part_like
from genenv_trainer.records import Record
from genenv_trainer.step import Objective, StepBatch, must_pull_back, must_restore
from genenv_trainer.step_cap import StepCap
from genenv_trainer.trainer_state import capture_random_state, restore_random_state, save_trainer_state
from genenv_trainer.work_folder import WorkFolder


class Training:
    """Mutable state of a job: policy, optimizer, random state, progress. `save_checkpoint` may be called
    at any time: between two steps it writes the present state, inside a step the state before it."""

    def __init__(
        self,
        job: JobConfig,
        work: WorkFolder,
        policy: Policy,
        optimizer: Optimizer,
        objective: Objective,
        steps: list[list[Record]],
        device: torch.device,
        steps_before: int,
    ):
        self._job, self._work, self._policy, self._optimizer, self._objective = (
            job,
            work,
            policy,
            optimizer,
            objective,
        )
        self._steps, self._device, self._steps_before = steps, device, steps_before
        self._parameters = policy.trainable()
        if job.settings.max_step_kl is not None:
            self._step_cap = StepCap(objective, self._parameters, job.settings.max_step_kl)
        self._ranks = objective.ranks
        self._checkpoints = StepCheckpoints(work, job.input_hash, self._ranks)
        self._random_state = self._capture_random_state()
        self._before_step: tuple | None = None
        self._checkpointed_step = 0
        self._whole_weights: dict[str, torch.Tensor] | None = None
        self._whole_optimizer: dict[str, torch.Tensor] | None = None
        self.progress = JobProgress()

    @property
    def step(self) -> int:
        """Steps that were tried, done or not."""
        return self.progress.step

    def resume(self) -> int | None:
        """Load the newest complete step checkpoint. Returns its step, or None if there is none."""
        found = self._checkpoints.read_newest(self._parameters)
        if found is None:
            return None
        weights, optimizer, state = found
        self._restore(weights, optimizer, state["scheduler_position"], state["random_state"])
        self.progress = JobProgress(**state["position"])
        self._checkpointed_step = self.progress.step
        return self.progress.step

    def run(self) -> None:
        """Do every step that is left. Raises what the objective's check raises. After Terminated or Orphaned
        the state is that before the step."""
        while self.progress.step < len(self._steps) and not self.progress.ended:
            step = self.progress.step
            self._random_state, self._before_step = self._capture_random_state(), None
            self._ranks.agree(lambda: self._start_step(step))
            try:
                self._step(step, self._steps[step])
            except NotFinite as error:
                self._undo(step, error)
            except (Terminated, Orphaned):
                self._restore_snapshot()
                raise
            self.progress.step += 1
            self._random_state = self._capture_random_state()
            last = self.progress.steps_log[-1]
            self._work.progress("step", self.progress.step, len(self._steps), last.get("loss"))
            if self.progress.step % self._job.checkpoint_every == 0 and self.progress.step < len(self._steps):
                self.save_checkpoint()

    def save_checkpoint(self) -> None:
        """Write a step checkpoint, unless the newest one is already here."""
        if self.progress.step == self._checkpointed_step:
            return
        state = {
            "scheduler_position": self._optimizer.position, "random_state": self._random_state,
            "position": dataclasses.asdict(self.progress),
        }
        self._checkpoints.write(self.progress.step, self._parameters, self._optimizer.tensors(), state)
        self._checkpointed_step = self.progress.step

    def gather_parts(self) -> None:
        """Bring weights and optimizer together in the first process, for `save_output`. All processes call it."""
        state = self._policy.model.state_dict()
        self._whole_weights = gather_whole(state, self._ranks.is_first)
        self._whole_optimizer = gather_whole(self._optimizer.tensors(), self._ranks.is_first)

    def save_output(self, folder: Path) -> None:
        """Fill `output/`."""
        self._policy.save(folder / "checkpoint", self._whole_weights)
        tensors = self._optimizer.tensors() if self._whole_optimizer is None else self._whole_optimizer
        state = {
            "format": 1, "step": self._steps_before + self.progress.steps_done,
            "scheduler_position": self._optimizer.position, "random_state": self._capture_random_state(),
        }
        save_trainer_state(folder / "trainer-state", tensors, state)

    def canary(self) -> list[dict] | None:
        """What a server of the weights must answer."""
        return measure_canary(self._policy, self._device, self._job.precision)

    def result(self) -> dict:
        """The content of result.json."""
        return self.progress.result(self._job, len(self._steps))

    def _start_step(self, step: int) -> None:
        self._objective.check()
        fault_injection.before_step(step, self._work.path, self._ranks.rank)

    def _capture_random_state(self) -> dict:
        """That of a GPU only if the next step draws from where this one has stopped."""
        return capture_random_state(self._device if self._job.random_stream == "job" else None)

    def _step(self, step: int, records: list[Record]) -> None:
        progress, settings = self.progress, self._job.settings
        reason = skip_reason(self._job.kind, records, settings.min_informative_groups)
        if reason is not None:
            print(f"step {step}: skipped, {reason}", flush=True)
            self.progress.skip(step, reason)
            return
        packed = self._objective.packed
        whole = None if settings.normaliser_totals is None else settings.normaliser_totals[step]
        batch = StepBatch.of(records, settings.tokens_per_micro_batch, self._device, packed, whole)
        if self._objective.reference is not None:
            self._objective.reference.start_step()
        pull_back, kl_before = False, None
        if settings.max_kl is not None or settings.max_step_kl is not None:
            self._before_step = self._snapshot()
        if settings.max_kl is not None:
            kl_before = self._objective.measure_kl(batch)
            progress.kl_before = kl_before if progress.kl_before is None else progress.kl_before
            pull_back = must_pull_back(kl_before, settings.max_kl)
        self._optimizer.zero_grad()
        loss, sums = self._accumulate_gradients(step, batch, pull_back)
        grad_norm, learning_rate = self._optimizer_step()
        metrics = step_metrics(self._job.kind, records, batch.totals, sums)
        metrics |= {"loss": loss, "grad_norm": grad_norm, "learning_rate": learning_rate}
        log = {"step": step, "loss": loss, "grad_norm": grad_norm, "kl": metrics.get("kl")}
        if settings.max_step_kl is not None:
            step_kl, share = self._step_cap.shorten(batch, self._before_step[0])
            metrics |= {"step_kl": step_kl, "step_share": share}
            log |= {"step_kl": step_kl, "step_share": share}
        if settings.max_kl is not None:
            kl_after = self._objective.measure_kl(batch)
            if must_restore(kl_before, kl_after, settings.max_kl):
                print(
                    f"step {step}: KL went from {kl_before} to {kl_after}, above 2 * {settings.max_kl}; "
                    "undone, the job ends",
                    flush=True,
                )
                self._restore(*self._before_step)
                self.progress.skip(step, "kl_cap", log | {"undone_kl": kl_after})
                progress.kl_after, progress.kl_rule, progress.ended = kl_before, "restored", True
                return
            progress.kl_after = kl_after
            progress.kl_rule = "pull_back" if pull_back else progress.kl_rule
        progress.steps_log.append(log)
        progress.metrics.append(metrics)
        progress.steps_done += 1

    def _accumulate_gradients(
        self, step: int, batch: StepBatch, pull_back: bool
    ) -> tuple[float, dict[str, float]]:
        if self._job.random_stream == "job":
            return self._objective.accumulate_gradients(batch, pull_back)
        seed = f"{self._job.seed}/{step}"
        try:
            return self._objective.accumulate_gradients(batch, pull_back, seed)
        finally:
            restore_random_state(self._random_state)

    def _optimizer_step(self) -> tuple[float, float]:
        """The same step in every process. Raises JobError if they do not have the same gradient."""
        steps = self._ranks.gather(self._optimizer.step)
        if any(tuple(step) != tuple(steps[0]) for step in steps):
            raise JobError(f"processes disagree on the gradient: norm and learning rate are {steps}")
        grad_norm, learning_rate = steps[0]
        return grad_norm, learning_rate

    def _undo(self, step: int, error: NotFinite) -> None:
        """Back to the state before the step. Without a snapshot nothing but the random state has moved:
        what is not finite is seen before the optimizer steps, except in the KL after it."""
        print(
            f"step {step}: {error}; undone; the next step follows "
            "(lower settings.learning_rate, or look at the batch)",
            flush=True,
        )
        self._restore_snapshot()
        restore_random_state(self._random_state)
        self._optimizer.zero_grad()
        self.progress.skip(step, "not_finite", {"why": str(error)})

    def _snapshot(self) -> tuple[dict[str, torch.Tensor], dict[str, torch.Tensor], int, dict]:
        weights = {name: p.detach().clone() for name, p in self._parameters.items()}
        optimizer = {name: tensor.clone() for name, tensor in self._optimizer.tensors().items()}
        return weights, optimizer, self._optimizer.position, self._random_state

    def _restore_snapshot(self) -> None:
        """Back to the state before the step, if there is a snapshot of it. A step with a cap has one; no
        other step checks anything after the optimizer's."""
        if self._before_step is not None:
            self._restore(*self._before_step)

    @torch.no_grad()
    def _restore(
        self,
        weights: dict[str, torch.Tensor],
        optimizer: dict[str, torch.Tensor],
        position: int,
        random: dict,
    ) -> None:
        for name, parameter in self._parameters.items():
            parameter.copy_(part_like(parameter, weights[name]))
        self._optimizer.load_tensors(optimizer, "step checkpoint")
        self._optimizer.position = position
        self._random_state = random
        restore_random_state(random)
