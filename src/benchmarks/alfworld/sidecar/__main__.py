"""`python sidecar`: plays ALFWorld's text games, asked in lines of JSON on standard input until that ends.

`{"id", "ask": "versions" | "begin" | "step" | "end" | "replay", ...}` is answered by `{"id", "result"}` on standard output, in the order
of the requests. What it cannot do ends the process: requests come from our own code, and a game that fails once has no state to trust.
"""

import json
import os
import sys

# The answers' own: whatever else prints, the planner's library too, goes to standard error.
_answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
os.dup2(2, 1)


def main() -> None:
    from games import Games

    games = Games()
    for line in sys.stdin:
        request = json.loads(line)
        result = games.answer(request)
        _answers.write(json.dumps({"id": request["id"], "result": result}) + "\n")
        _answers.flush()


if __name__ == "__main__":
    main()
