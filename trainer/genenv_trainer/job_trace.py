"""Spans of a training job, in the trace of the activity that has started it: OpenTelemetry's protocol in JSON.

Nothing of it is an input: without the file or the variable nothing is recorded, and what cannot be sent is lost.
Written by hand for the reason in docs/decisions/0080.
"""

import json
import os
import re
import threading
import time
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import unquote

from genenv_trainer.plain_files import read_plain_file

SEND_SECONDS = 2
"""Time that a collector has to take the spans; the job has written its result by then."""

MAX_SPANS = 5000
"""Later steps of a longer job have no span."""

MAX_PARENT_BYTES = 1000
TRACE_PARENT = re.compile(r"00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})")


class NoRedirects(urllib.request.HTTPRedirectHandler):
    """Answers that lead elsewhere are failures: the collector's key is for its own address alone."""

    def redirect_request(self, *_) -> None:
        return None


def _send(request: urllib.request.Request) -> None:
    try:
        urllib.request.build_opener(NoRedirects).open(request, timeout=SEND_SECONDS).close()
    except Exception as error:
        print(f"the spans of this job could not be sent: {type(error).__name__}", flush=True)


class JobTrace:
    """Marks when things happen, and sends the spans between them at the end."""

    def __init__(self, folder: Path, environment: Mapping[str, str]):
        self.endpoint = _endpoint(environment)
        self.headers = _headers(environment.get("OTEL_EXPORTER_OTLP_HEADERS", ""))
        self.parent = _parent(folder / "traceparent") if self.endpoint else None
        self.span_id = os.urandom(8).hex()
        self.spans: list[dict] = []
        self.began = self.last = time.time_ns()

    def mark(self, phase: str, step: int) -> None:
        """What has been since the last mark has ended: an optimizer step for the phase `step`."""
        now = time.time_ns()
        if self.parent is not None and phase == "step" and len(self.spans) < MAX_SPANS:
            self._add("optimizer step", os.urandom(8).hex(), self.span_id, (self.last, now), {"genenv.step": step})
        self.last = now

    def end(self, reason: str, kind: str) -> None:
        """Sends the spans: one of the job, and one of each step."""
        if self.parent is None or self.endpoint is None:
            return
        failed = {"status": {"code": 2}} if reason not in ("finished", "terminated") else {}
        attributes = {"genenv.job": kind, "genenv.exit": reason}
        self._add("training job", self.span_id, self.parent[1], (self.began, time.time_ns()), attributes, failed)
        resource = {"attributes": [_attribute("service.name", "genenv-trainer")]}
        scope = {"scope": {"name": "genenv_trainer"}, "spans": self.spans}
        body = {"resourceSpans": [{"resource": resource, "scopeSpans": [scope]}]}
        request = urllib.request.Request(
            self.endpoint,
            json.dumps(body).encode(),
            {**self.headers, "content-type": "application/json"},
            method="POST",
        )
        # A collector that answers a byte at a time does not keep the job, and its device, from ending.
        sending = threading.Thread(target=_send, args=(request,), daemon=True)
        sending.start()
        sending.join(SEND_SECONDS)

    def _add(
        self,
        name: str,
        span_id: str,
        parent_id: str,
        times: tuple[int, int],
        attributes: Mapping[str, str | int],
        more: Mapping[str, object] = {},
    ) -> None:
        span = {
            "traceId": self.parent[0],
            "spanId": span_id,
            "parentSpanId": parent_id,
            "name": name,
            "kind": 1,
            "startTimeUnixNano": str(times[0]),
            "endTimeUnixNano": str(times[1]),
            "attributes": [_attribute(key, value) for key, value in attributes.items()],
        }
        self.spans.append({**span, **more})


def _attribute(key: str, value: str | int) -> dict:
    return {"key": key, "value": {"stringValue": value} if isinstance(value, str) else {"intValue": str(value)}}


def _endpoint(environment: Mapping[str, str]) -> str | None:
    """Where spans are sent, by the standard variables; None if nowhere."""
    if environment.get("OTEL_SDK_DISABLED", "").lower() == "true":
        return None
    endpoint = environment.get("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
    base = environment.get("OTEL_EXPORTER_OTLP_ENDPOINT")
    url = endpoint or (f"{base.rstrip('/')}/v1/traces" if base else None)
    return url if url is not None and re.match(r"https?://", url) else None


def _headers(text: str) -> dict[str, str]:
    """`name=value,…`, as OTEL_EXPORTER_OTLP_HEADERS has them."""
    pairs = (pair.split("=", 1) for pair in text.split(",") if "=" in pair)
    return {name.strip(): unquote(value.strip()) for name, value in pairs}


def _parent(file: Path) -> tuple[str, str] | None:
    """Trace and span that this job continues; None if there is none, or it is not sampled."""
    try:
        match = TRACE_PARENT.fullmatch(read_plain_file(file, limit=MAX_PARENT_BYTES).decode().strip())
    except (OSError, UnicodeDecodeError):
        return None
    return (match[1], match[2]) if match is not None and int(match[3], 16) & 1 else None
