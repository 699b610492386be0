"""The official code of BFCL (package bfcl-eval), imported without the 150 packages that its model handlers need.

Set BFCL_PROJECT_ROOT before: the package makes folders there when it is imported.
"""

import sys
import types

# The parser looks for it at the first name beyond ASCII, where a confined process opens no file any more.
import unicodedata  # noqa: F401

PROMPT, NATIVE = "prompt", "native"


class _ModelConfig:
    def __init__(self, underscore_to_dot: bool) -> None:
        self.underscore_to_dot = underscore_to_dot


def _stub(name: str, **members: object) -> None:
    module = types.ModuleType(name)
    vars(module).update(members)
    sys.modules[name] = module


def _unavailable(*_: object) -> None:
    raise RuntimeError("tree-sitter is not installed")


# ast_checker looks only at underscore_to_dot: whether tools were given with "_" for "." in their names, as native tools are.
_stub("bfcl_eval.constants.model_config", MODEL_CONFIG_MAPPING={PROMPT: _ModelConfig(False), NATIVE: _ModelConfig(True)})

try:
    import tree_sitter  # noqa: F401

    MISSING_PARSER: str | None = None
except ImportError as error:
    # Python 3.13 has no wheel of the version that the official parsers are written for; only Java and JavaScript need them.
    MISSING_PARSER = f"answers in Java and JavaScript are parsed with tree-sitter 0.21.3, which Python {sys.version_info[0]}.{sys.version_info[1]} does not have ({error})"
    _stub("bfcl_eval.model_handler.parser.java_parser", parse_java_function_call=_unavailable)
    _stub("bfcl_eval.model_handler.parser.js_parser", parse_javascript_function_call=_unavailable)

from bfcl_eval.constants import category_mapping, default_prompts, eval_config  # noqa: E402
from bfcl_eval.constants.enums import Language, ModelStyle, ReturnFormat  # noqa: E402
from bfcl_eval.constants.executable_backend_config import CLASS_FILE_PATH_MAPPING, MULTI_TURN_FUNC_DOC_FILE_MAPPING  # noqa: E402
from bfcl_eval.constants.type_mappings import GORILLA_TO_OPENAPI  # noqa: E402
from bfcl_eval.eval_checker.ast_eval.ast_checker import ast_checker  # noqa: E402
from bfcl_eval.eval_checker.multi_turn_eval.multi_turn_checker import multi_turn_checker  # noqa: E402
from bfcl_eval.eval_checker.multi_turn_eval.multi_turn_utils import execute_multi_turn_func_call, is_empty_execute_response  # noqa: E402
from bfcl_eval.model_handler.parser.java_parser import parse_java_function_call  # noqa: E402
from bfcl_eval.model_handler.parser.js_parser import parse_javascript_function_call  # noqa: E402
from bfcl_eval.model_handler.utils import convert_to_tool, format_execution_results_prompting, system_prompt_pre_processing_chat_model  # noqa: E402
from bfcl_eval.utils import (  # noqa: E402
    is_empty_output,
    is_function_calling_format_output,
    is_java,
    is_js,
    is_multi_turn,
    is_relevance_or_irrelevance,
    load_dataset_entry,
    load_ground_truth_entry,
)

__all__ = [
    "CLASS_FILE_PATH_MAPPING",
    "GORILLA_TO_OPENAPI",
    "MISSING_PARSER",
    "MULTI_TURN_FUNC_DOC_FILE_MAPPING",
    "NATIVE",
    "PROMPT",
    "Language",
    "ModelStyle",
    "ReturnFormat",
    "ast_checker",
    "category_mapping",
    "convert_to_tool",
    "default_prompts",
    "eval_config",
    "execute_multi_turn_func_call",
    "format_execution_results_prompting",
    "is_empty_execute_response",
    "is_empty_output",
    "is_function_calling_format_output",
    "is_java",
    "is_js",
    "is_multi_turn",
    "is_relevance_or_irrelevance",
    "load_dataset_entry",
    "load_ground_truth_entry",
    "multi_turn_checker",
    "parse_java_function_call",
    "parse_javascript_function_call",
    "system_prompt_pre_processing_chat_model",
]
