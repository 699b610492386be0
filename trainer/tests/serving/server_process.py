"""A server process of the tests: started, awaited through its port file, ended with SIGTERM."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import httpx

TRAINER = Path(__file__).resolve().parents[2]


class ServerProcess:
    def __init__(self, store: Path, port_file: Path):
        command = [
            sys.executable,
            "-m",
            "genenv_trainer",
            "serve",
            "--store",
            store,
            "--threads",
            "2",
            "--port-file",
            port_file,
        ]
        self.process = subprocess.Popen(
            list(map(str, command)), cwd=TRAINER, env=os.environ | {"HF_HUB_OFFLINE": "1"}
        )
        self.port_file = port_file

    def client(self) -> httpx.Client:
        """A client, once the server has written its port."""
        while not self.port_file.exists():
            if self.process.poll() is not None:
                code = self.process.returncode
                raise RuntimeError(f"the server ended with {code} before it wrote its port")
            time.sleep(0.05)
        written = json.loads(self.port_file.read_text())
        assert written["pid"] == self.process.pid
        return httpx.Client(base_url=f"http://127.0.0.1:{written['port']}", timeout=60)

    def stop(self) -> int:
        """Its exit status after SIGTERM."""
        self.process.terminate()
        return self.process.wait(timeout=30)
