"""Run by tests with the engine's Python, `-X utf8 -s`: what no request of the sidecar reaches. Prints one line of JSON.

    decoder            our decoder against the official one
    sandbox FOLDER     code that tries to break out, run inside a throw-away process; FOLDER/secret holds `secret`
"""

import json
import os
import sys
import tempfile
from pathlib import Path
from selectors import DefaultSelector

sys.path.insert(0, str(Path(__file__).parents[2] / "src/benchmarks/bfcl/sidecar"))
os.environ["BFCL_PROJECT_ROOT"] = tempfile.mkdtemp()

BENIGN = """
[f(a=1)] | f(a=1) | f(a=1), g(b=2) | [f(a=1), g(b=2)] | `[f(a=1)]` | '[f(a=1)]' | [f()] | [] | | [a.b.c(x=1)] | [f(1, 2, a=3)]
[f(a=-5)] | [f(a=+5)] | [f(a=~5)] | [f(a=not True)] | [f(a=-5.5)] | [f(a=--5)] | [f(a=-x)] | [f(a=-'a')]
[f(a=1+2)] | [f(a=2*3.5)] | [f(a=7/2)] | [f(a=7//2)] | [f(a=7%4)] | [f(a=2**8)] | [f(a=2**-1)] | [f(a=-(2+3))] | [f(a=2*-3)] | [f(a=1/0)]
[f(a='x'+'y')] | [f(a='-'*5)] | [f(a=5*'-')] | [f(a=[0]*3)] | [f(a=[1]+[2])] | [f(a=(1,)+(2,))] | [f(a='x'+1)] | [f(a=1+x)] | [f(a=1e3*2)]
[f(a=[1, 'b', None, True])] | [f(a={'k': [1, {'l': 2}]})] | [f(a=(1, 2))] | [f(a=())] | [f(a={})] | [f(a={1, 2})] | [f(a={'k': v})] | [f(a={**b})]
[f(a=None)] | [f(a=...)] | [f(a=name)] | [f(a=g(1))] | [f(a=g(b=1))] | [f(a=g())] | [f(a=x[0])] | [f(a=x['k'])] | [f(a=x.y)] | [f(a=lambda: 1)]
[f(a=b'x')] | [f(a=1j)] | [f(a=1_000)] | [f(a=0x10)] | [f(a=r'\\d')] | [f(a='it\\'s')] | [f(a='''x''')] | [f(a='a' 'b')] | [f(a=f'{1}')] | [f(a=1 if x else 2)]
[f(a=[i for i in x])] | [f(a=1 < 2)] | [f(a=x and y)] | [f(**{'a': 1})] | [f(*x)] | [f(a=1)][0] | [f(a=1) | {f(a=1), g()} | [f(a=1)], [g()] | f | [1] | "f(a=1)"
The answer is 5. | [f(a=1)] and more | f(a=1) # why | [f(a=1),] | [f(a='[x]')] | [f(a="ä", b="日本")] | [año(valor=1)] | f(x)(a=1) | [f(a=1, a=2)] | [(f)(a=1)]
[f(a=[[1, 2], [3]])] | [f(a=-True)] | [f(a=True+1)] | [f(a='%s' % 1)] | [f(a=1|2)] | [f(a={'a': {'b': {}}})] | [f(a=1e999)] | [f(a={1: 2})] | [f(a={[1]: 2})]
"""

RAW = {
    "read a file": "open(folder + '/secret').read()",
    "write a file": "open(folder + '/written', 'w').write('x')",
    "list a folder": "os.listdir('/')",
    "import": "str(__import__('sqlite3'))",
    "network": "__import__('_socket').socket()",
    "start a program": "os.execv('/bin/sh', ['sh', '-c', 'touch ' + folder + '/written'])",
    "start a process": "os.posix_spawn('/bin/true', ['true'], {})",
    "fork": "os.fork()",
    "fork bomb": "[os.fork() for _ in range(4)]",
    "thread": "__import__('_thread').start_new_thread(print, ())",
    "signal the parent": "os.kill(parent, 0)",
    "trace the parent": "ctypes.CDLL(None, use_errno=True).ptrace(16, parent, 0, 0) == 0 or fail()",
    "memory of the parent": "open(f'/proc/{parent}/mem', 'rb').read(1)",
    "huge text": "len('x' * (4 << 30))",
    "huge number": "len(bin(1 << (16 << 30)))",
    "endless loop": "[None for _ in iter(int, 1)]",
    "endless wait": "__import__('_thread').allocate_lock().acquire() and [lock := __import__('_thread').allocate_lock(), lock.acquire(), lock.acquire()]",
    "huge result": "'x' * (64 << 20)",
    "crash": "ctypes.string_at(1)",
    "exit": "os._exit(0)",
    "environment": "dict(os.environ) or None",
    "open files": "[n for n in range(4, 1000) if can_stat(n)] or None",
    "remove the filter": "ctypes.CDLL(None).prctl(22, 0, 0, 0, 0) == 0 or fail()",
    "change user": "os.setuid(0)",
    "raise a limit": "resource.setrlimit(resource.RLIMIT_CPU, (1000, 1000))",
    "forged": "os.write(3, b'[1]') and os._exit(0)",
}


def decoder() -> dict:
    import official  # noqa: F401
    from bfcl_eval.model_handler.utils import default_decode_ast_prompting
    from cases import load_cases
    from decoder import NotDecodable, decode_calls
    from gold import gold_turns

    texts = [part.strip() for line in BENIGN.strip().splitlines() for part in line.split(" | ")]
    for category in ("simple_python", "parallel_multiple", "live_multiple", "multi_turn_base"):
        texts += [answer["text"] for case in load_cases(category).values() for turn in gold_turns(case, category, "prompt") for answer in turn]

    def outcome(decode, text: str) -> str:
        try:
            return repr(decode(text))
        except (NotDecodable, Exception):
            return "refused"

    pairs = [(text, outcome(default_decode_ast_prompting, text), outcome(decode_calls, text)) for text in texts]
    return {"texts": len(texts), "refused": sum(ours == "refused" for _, _, ours in pairs), "different": [pair for pair in pairs if pair[1] != pair[2]]}


def sandbox(folder: str) -> dict:
    import ctypes
    import resource
    import _socket  # noqa: F401
    import sandbox as boxes

    boxes.CPU_SECONDS, boxes.WALL_SECONDS = 1, 5
    outcomes: dict[str, list] = {}
    selector = DefaultSelector()
    os.mkdir(os.path.join(folder, "empty"))
    sandboxes = boxes.Sandboxes(selector, os.path.join(folder, "empty"), most=2, confined=True)

    def fail() -> None:
        raise OSError("refused")

    def can_stat(number: int) -> bool:
        try:
            os.fstat(number)
            return True
        except OSError:
            return False

    scope = {"parent": os.getpid(), "os": os, "ctypes": ctypes, "resource": resource, "folder": folder, "fail": fail, "can_stat": can_stat}
    for name, code in [*RAW.items(), ("harmless", "1 + 1")]:
        sandboxes.run(lambda code=code: eval(code, scope), lambda result, error, name=name: outcomes.update({name: [result, error]}))
    while sandboxes.busy:
        for key, _ in selector.select(sandboxes.seconds_left()):
            key.data()
        sandboxes.kill_overdue()
    return {"outcomes": outcomes, "files": sorted(os.listdir(folder))}


print(json.dumps(decoder() if sys.argv[1] == "decoder" else sandbox(sys.argv[2])))
