#!/usr/bin/env bash
# Checks trainer and embedded policy server on a GPU, with a real or a randomly initialised model: speed, sampler against
# trainer, and whether a killed job ends with the bytes of one that was not. Python only, about 10 minutes.
#   infra/gpu-check.sh --out gpu.json [--model FOLDER]          (docs/real-llm.md, "On a GPU")
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
status=0
HF_HUB_OFFLINE=1 PYTHONPATH="$root/infra:$root/trainer:$root/bench${PYTHONPATH:+:$PYTHONPATH}" "${PYTHON:-python3}" -m gpu_check "$@" || status=$?
if command -v vllm >/dev/null; then
  cat <<'HINT'
vLLM is here. Two runs on it, compared byte for byte (needs Node; not part of this check):
  1. serve the model with VLLM_BATCH_INVARIANT=1 and the flags of docs/real-llm.md, "vLLM's flags"
  2. in a copy of experiments/smollm2.json: "serving": { "type": "vllm", "baseUrl": "http://127.0.0.1:8000/v1" }
  3. npx genenv run COPY.json --id one; npx genenv run COPY.json --id two
  4. cmp .genenv/runs/one/ledger.jsonl .genenv/runs/two/ledger.jsonl
HINT
fi
exit $status
