"""JSON objects that carry their own hash: the last field, `sha256`, is that of all text before it. src/training/job-folder.ts."""

import hashlib
import json

SEAL = ',\n "sha256": "'


def seal(value: dict) -> str:
    """Canonical text (sorted keys, finite numbers) of an object with at least one field."""
    head = json.dumps(value, sort_keys=True, indent=1, ensure_ascii=False, allow_nan=False).removesuffix("\n}")
    return f"{head}{_tail(head)}"


def unseal(text: str) -> dict:
    """The object without its seal. Raises ValueError if the text is torn or altered."""
    head, _, _ = text.rpartition(SEAL)
    if text != f"{head}{_tail(head)}":
        raise ValueError("torn or altered: its sha256 is not that of its text")
    return json.loads(f"{head}\n}}")


def _tail(head: str) -> str:
    return f'{SEAL}{hashlib.sha256(head.encode()).hexdigest()}"\n}}\n'
