"""Spans of a job: what is sent, and that nothing is without a trace or a collector."""

import json
import socket
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from genenv_trainer.job_trace import JobTrace

PARENT = f"00-{'a' * 32}-{'b' * 16}-01"


@pytest.fixture
def serve():
    """Starts a server; returns its address."""
    servers = []

    def start(handler):
        server = HTTPServer(("127.0.0.1", 0), handler)
        servers.append(server)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        return f"http://127.0.0.1:{server.server_port}"

    yield start
    for server in servers:
        server.shutdown()


@pytest.fixture
def collector(serve):
    """A server that keeps what is sent to it: (path, headers, body)."""
    received = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            body = json.loads(self.rfile.read(int(self.headers.get("content-length", 0))) or "null")
            headers = {name.lower(): value for name, value in self.headers.items()}
            received.append((self.path, headers, body))
            self.send_response(200)
            self.end_headers()

        # A redirect makes a POST a GET.
        do_GET = do_POST

        def log_message(self, *_):
            pass

    return serve(Handler), received


def traced(folder, environment, parent=PARENT):
    (folder / "traceparent").write_text(parent)
    trace = JobTrace(folder, environment)
    trace.mark("loading", 0)
    trace.mark("step", 1)
    trace.mark("step", 2)
    trace.end("finished", "grpo")


def test_a_job_and_its_steps_are_spans_of_the_trace(tmp_path, collector):
    url, received = collector
    traced(
        tmp_path, {"OTEL_EXPORTER_OTLP_ENDPOINT": f"{url}/", "OTEL_EXPORTER_OTLP_HEADERS": "x-key=a%20b,y=1"}
    )
    [(path, headers, body)] = received
    assert (path, headers["x-key"], headers["y"]) == ("/v1/traces", "a b", "1")
    *steps, job = body["resourceSpans"][0]["scopeSpans"][0]["spans"]
    assert (job["name"], job["traceId"], job["parentSpanId"]) == ("training job", "a" * 32, "b" * 16)
    assert [step["name"] for step in steps] == ["optimizer step"] * 2
    assert {step["parentSpanId"] for step in steps} == {job["spanId"]}
    assert int(steps[0]["endTimeUnixNano"]) <= int(steps[1]["startTimeUnixNano"])
    assert len({span["spanId"] for span in [*steps, job]}) == 3


@pytest.mark.parametrize("parent", ["", "nonsense", PARENT.replace("-01", "-00"), PARENT.upper()])
def test_nothing_is_sent_without_a_trace_that_is_sampled(tmp_path, collector, parent):
    url, received = collector
    traced(tmp_path, {"OTEL_EXPORTER_OTLP_ENDPOINT": url}, parent)
    assert received == []


def test_nothing_is_sent_when_it_is_off_or_the_address_is_none(tmp_path, collector):
    url, received = collector
    traced(tmp_path, {"OTEL_EXPORTER_OTLP_ENDPOINT": url, "OTEL_SDK_DISABLED": "true"})
    traced(tmp_path, {"OTEL_EXPORTER_OTLP_ENDPOINT": "file:///etc/passwd"})
    traced(tmp_path, {})
    assert received == []


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_does_not_take_the_key_elsewhere(tmp_path, serve, collector, capsys, status):
    url, received = collector

    class Redirect(BaseHTTPRequestHandler):
        def do_POST(self):
            self.rfile.read(int(self.headers["content-length"]))
            self.send_response(status)
            self.send_header("location", f"{url}/elsewhere")
            self.end_headers()

        def log_message(self, *_):
            pass

    traced(
        tmp_path,
        {"OTEL_EXPORTER_OTLP_ENDPOINT": serve(Redirect), "OTEL_EXPORTER_OTLP_HEADERS": "authorization=key"},
    )
    assert received == []
    assert "could not be sent: HTTPError" in capsys.readouterr().out


def test_a_collector_that_is_away_costs_spans_only(tmp_path, capsys):
    traced(tmp_path, {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1"})
    assert "could not be sent" in capsys.readouterr().out


@pytest.mark.parametrize("answer", [b"nonsense\r\n\r\n", b"HTTP/1.1 200 OK\r\nX: " + b"x" * 100_000, b""])
def test_an_answer_that_is_no_http_fails_no_job(tmp_path, answer):
    with socket.create_server(("127.0.0.1", 0)) as server:
        threading.Thread(target=reply, args=(server, answer), daemon=True).start()
        traced(tmp_path, {"OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{server.getsockname()[1]}"})


def reply(server, answer):
    connection, _ = server.accept()
    with connection:
        connection.recv(1_000_000)
        connection.sendall(answer)


def test_a_collector_that_answers_a_byte_at_a_time_does_not_keep_the_job(tmp_path):
    stop = threading.Event()

    def drip(server):
        connection, _ = server.accept()
        with connection:
            connection.sendall(b"HTTP/1.1 200 OK\r\nX: ")
            while not stop.wait(0.1):
                connection.sendall(b"x")

    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=drip, args=(server,), daemon=True)
        thread.start()
        traced(tmp_path, {"OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{server.getsockname()[1]}"})
        # The collector is not done yet.
        assert thread.is_alive()
        stop.set()
        thread.join()
