"""What a report says of checks that failed."""

WRONG_ADAPTER_RATIO = 3
"""How much farther the trainer must be without the adapter, for the comparison to tell a wrong one."""


def problems(report: dict) -> list[str]:
    """Each check that failed, as a sentence."""
    found = [f"{part}: {figures['failed']}" for part, figures in report.items() if isinstance(figures, dict) and "failed" in figures]
    if report.get("sampling", {}).get("same_answers_twice") is False:
        found.append("The embedded server gave other answers to the same request with the same seed.")
    gap = report.get("sampler_against_trainer", {})
    if "mean" in gap and not gap["mean"] <= gap["mean_limit"]:
        found.append(f"Log-probabilities of sampler and trainer differ by {gap['mean']:.2g} nats a token, above {gap['mean_limit']}.")
    if "mean" in gap and not gap["mean_without_adapter"] > WRONG_ADAPTER_RATIO * gap["mean"]:
        found.append(
            f"Sampler and trainer differ by {gap['mean']:.2g} nats a token, and by {gap['mean_without_adapter']:.2g} without the adapter: "
            "that does not tell a wrong adapter."
        )
    jobs = report.get("jobs", {})
    if "steps" in jobs and jobs["steps_done"] != jobs["steps"]:
        found.append(f"A GRPO job did {jobs['steps_done']} of {jobs['steps']} steps.")
    if "steps" in jobs and jobs["resumed_from_step"] is None:
        found.append("The killed GRPO job began again instead of resuming from its step checkpoint.")
    for key, what in (("run_again", "run again"), ("killed_and_resumed", "killed and resumed")):
        if differ := jobs.get(f"other_files_when_{key}"):
            hint = f" torch warned: {' | '.join(jobs['warnings_of_order'])}" if jobs["warnings_of_order"] else ""
            found.append(f"A GRPO job that was {what} left other bytes in {', '.join(differ)}.{hint}")
    return found
