"""Episodes of ALFWorld's text games, several side by side, each with a state of its own."""

from importlib.metadata import version
from itertools import count

import grammar_expressions
import shortcuts

grammar_expressions.install()
shortcuts.install()

from alfworld.agents.environment.alfred_tw_env import AlfredDemangler  # noqa: E402
from textworld import EnvInfos  # noqa: E402
from textworld.envs import PddlEnv  # noqa: E402


class Games:
    def __init__(self) -> None:
        self._playing: dict[int, AlfredDemangler] = {}
        # Kept for the next episode: each holds a copy of the planner's library, which is never let go.
        self._idle: list[AlfredDemangler] = []
        self._numbers = count()

    def answer(self, request: dict) -> object:
        match request:
            case {"ask": "versions"}:
                return {name: version(name) for name in ("alfworld", "textworld", "fast-downward-textworld")}
            case {"ask": "begin", "file": file}:
                return self.begin(file)
            case {"ask": "step", "episode": episode, "command": command}:
                return _seen(self._playing[episode].step(command)[0])
            case {"ask": "end", "episode": episode}:
                return self.end(episode)
            case {"ask": "replay", "file": file, "commands": commands}:
                return self.replay(file, commands)
        raise ValueError(f"unknown request: {request.get('ask')!r}")

    def begin(self, file: str) -> dict:
        """A new episode of the game in the file, and what its player sees first."""
        game = self._idle.pop() if self._idle else AlfredDemangler(PddlEnv(EnvInfos(won=True, admissible_commands=True)), shuffle=False)
        game.load(file)
        seen = _seen(game.reset())
        episode = next(self._numbers)
        self._playing[episode] = game
        return {"episode": episode, **seen}

    def end(self, episode: int) -> None:
        self._idle.append(self._playing.pop(episode))

    def replay(self, file: str, commands: list[str]) -> dict:
        """Whether the commands win the game, and after how many of them: the first win ends it, as in the official environment."""
        begun = self.begin(file)
        episode, won, steps = begun["episode"], begun["won"], 0
        game = self._playing[episode]
        for command in commands:
            if won:
                break
            won = bool(game.step(command)[0]["won"])
            steps += 1
        self.end(episode)
        return {"won": won, "steps": steps}


def _seen(state: dict) -> dict:
    """What a player is told, and whether the goal holds."""
    return {"observation": state["feedback"], "admissible": state["admissible_commands"], "won": bool(state["won"])}
