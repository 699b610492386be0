"""What a category's sidecar answers, each request by work in throw-away processes."""

import os
from collections.abc import Callable
from importlib.metadata import version

import seccomp
from cases import data_hash, load_cases, questions
from gold import gold_turns
from multi_turn import episode_verdict, last_turn, load_backends, turn_verdict
from official import MISSING_PARSER, is_java, is_js, is_multi_turn
from sandbox import Sandboxes
from single_turn import single_turn_verdict, wrong

# Cases whose answers are judged in one process: enough that its start costs little.
SINGLE_TURN_BATCH = 250

Reply = Callable[[object], None]


class Category:
    def __init__(self, category: str, setting: str, sandboxes: Sandboxes) -> None:
        self._category = category
        self._setting = setting
        self._sandboxes = sandboxes
        self._cases = load_cases(category)
        if is_multi_turn(category):
            load_backends(self._cases)

    def answer(self, request: dict, reply: Reply) -> None:
        """Raises ValueError and KeyError for what is no request."""
        match request["ask"]:
            case "cases":
                reply(self._described())
            case "last-turn":
                case_, turns = self._cases[request["case"]], request["turns"]
                self._sandboxes.run(lambda: last_turn(case_, turns, self._category, self._setting), lambda result, error: reply({"ran": result, "error": error}))
            case "judge":
                judge = self._episodes if is_multi_turn(self._category) else self._single_turns
                judge(request["answered"], reply)
            case "judge-turns":
                self._turns(request["answered"], reply)
            case unknown:
                raise ValueError(f"no such request: {unknown}")

    def _described(self) -> dict:
        asked = questions(self._category, self._setting)
        cases = [{"id": id, "turns": asked[id], "gold": gold_turns(case, self._category, self._setting)} for id, case in self._cases.items()]
        return {"cases": cases, "dataHash": data_hash(self._category), "version": version("bfcl-eval")}

    def _single_turns(self, answered: list[dict], reply: Reply) -> None:
        def verdicts(part: list[dict]) -> list[dict]:
            return [single_turn_verdict(self._cases[one["id"]], one["turns"][0][0], self._category, self._setting) for one in part]

        self._spread(answered, SINGLE_TURN_BATCH, verdicts, reply)

    def _episodes(self, answered: list[dict], reply: Reply) -> None:
        self._spread(answered, 1, lambda part: [episode_verdict(self._cases[part[0]["id"]], part[0]["turns"], self._category, self._setting)], reply)

    def _turns(self, answered: list[dict], reply: Reply) -> None:
        self._spread(answered, 1, lambda part: [turn_verdict(self._cases[part[0]["id"]], part[0]["turns"], self._category, self._setting)], reply)

    def _spread(self, answered: list[dict], most: int, verdicts: Callable[[list[dict]], list[dict]], reply: Reply) -> None:
        """Verdicts in order. Where the process of several cases fails, each gets its own, and only those that fail again are wrong."""
        results: list[dict | None] = [None] * len(answered)
        left = len(answered)

        def judge(begin: int, end: int) -> None:
            self._sandboxes.run(lambda: verdicts(answered[begin:end]), lambda result, error: judged(begin, end, result, error))

        def judged(begin: int, end: int, result: object, error: str | None) -> None:
            nonlocal left
            if error is not None and end - begin > 1:
                for index in range(begin, end):
                    judge(index, index + 1)
                return
            results[begin:end] = [wrong("sandbox", error)] if error is not None else result
            left -= end - begin
            if left == 0:
                reply(results)

        if not answered:
            reply([])
        for begin in range(0, len(answered), most):
            judge(begin, min(begin + most, len(answered)))


def unavailable(category: str, confined: str | None) -> str | None:
    """Why the category cannot be judged on this machine; `confined` is why nothing can be confined here."""
    if (is_java(category) or is_js(category)) and MISSING_PARSER is not None:
        return MISSING_PARSER
    if is_multi_turn(category) and confined is not None:
        return f"multi-turn answers run only in a confined process: {confined}"
    return None


def cannot_confine() -> str | None:
    """Why this machine cannot confine a process, found out with one."""
    reason = seccomp.unsupported()
    if reason is not None:
        return reason
    pid = os.fork()
    if pid == 0:
        try:
            seccomp.confine()
            os._exit(0)
        finally:
            os._exit(1)
    _, status = os.waitpid(pid, 0)
    return None if os.waitstatus_to_exitcode(status) == 0 else "the kernel, or the container that this runs in, refuses seccomp filters"
