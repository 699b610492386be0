"""`python compile_grammars.py MODEL < requests`: compiles schemas and grammars as vLLM does, with the model's tokenizer, and
tries texts on them. A request is `{"schema" or "grammar": text, "texts": [...]}`, a list of them one JSON on stdin; the answer on stdout
is a list of `{"error": text or null, "accepts": [bool, ...]}`. Runs in the environment of the engine `vllm`.
"""

import json
import sys

import xgrammar
from transformers import AutoTokenizer
from vllm.v1.structured_output.backend_xgrammar import has_xgrammar_unsupported_json_features


def main(model: str) -> None:
    tokenizer = AutoTokenizer.from_pretrained(model)
    info = xgrammar.TokenizerInfo.from_huggingface(tokenizer, vocab_size=len(tokenizer))
    compiler = xgrammar.GrammarCompiler(info, max_threads=2)
    answers = []
    for request in json.load(sys.stdin):
        try:
            if "schema" in request:
                if has_xgrammar_unsupported_json_features(json.loads(request["schema"])):
                    raise ValueError("a keyword that vLLM refuses")
                # Flags of vLLM's backend when white space is disabled.
                compiled = compiler.compile_json_schema(request["schema"], any_whitespace=False, separators=(",", ":"))
            else:
                compiled = compiler.compile_grammar(request["grammar"])
            accepts = []
            for text in request["texts"]:
                matcher = xgrammar.GrammarMatcher(compiled, terminate_without_stop_token=True)
                accepts.append(bool(matcher.accept_string(text)) and matcher.is_terminated())
            answers.append({"error": None, "accepts": accepts})
        except Exception as error:  # whatever the compiler says is the answer
            answers.append({"error": str(error), "accepts": []})
    json.dump(answers, sys.stdout)


main(sys.argv[1])
