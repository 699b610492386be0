"""Verdicts on single-turn answers: the AST checks, relevance and irrelevance, as eval_runner of the official code has them."""

from answers import decode_answer
from cases import Case
from decoder import NotDecodable
from official import Language, ReturnFormat, ast_checker, is_empty_output, is_function_calling_format_output, is_java, is_js, is_relevance_or_irrelevance

LONGEST_ERROR = 500


def wrong(reason: str, error: object = None, **more: object) -> dict:
    return {"valid": False, "reason": reason, "error": None if error is None else str(error)[:LONGEST_ERROR], **more}


def single_turn_verdict(case: Case, answer: dict, category: str, setting: str) -> dict:
    """{"valid", "reason", "error", "converted"}; converted says that the official decoder would have refused the answer."""
    if is_relevance_or_irrelevance(category):
        return _relevance_verdict(answer, category, setting)
    language, return_format = _language(category)
    try:
        decoded = decode_answer(answer, setting, return_format)
    except NotDecodable as error:
        return wrong("ast_decoder:decoder_failed", error, converted=False)
    if not is_function_calling_format_output(decoded.calls):
        return wrong("ast_decoder:decoder_wrong_output_format", converted=decoded.converted)
    try:
        result = ast_checker(case.entry["function"], decoded.calls, case.truth, language, category, setting)
    # The official checker takes for granted that list items have the type of the truth's, and ends the whole evaluation otherwise.
    except Exception as error:
        return wrong("checker_error", f"{type(error).__name__}: {error}", converted=decoded.converted)
    if result["valid"]:
        return {"valid": True, "reason": None, "error": None, "converted": decoded.converted}
    return wrong(result["error_type"], result["error"], converted=decoded.converted)


def _relevance_verdict(answer: dict, category: str, setting: str) -> dict:
    try:
        decoded = decode_answer(answer, setting)
        called, converted, error = not is_empty_output(decoded.calls), decoded.converted, None
    except NotDecodable as problem:
        called, converted, error = False, False, problem
    if called == ("irrelevance" not in category):
        return {"valid": True, "reason": None, "error": None, "converted": converted}
    reason = "irrelevance_error:decoder_success" if called else "relevance_error:decoder_failed"
    return wrong(reason, error, converted=converted)


def _language(category: str) -> tuple[Language, ReturnFormat]:
    if is_java(category):
        return Language.JAVA, ReturnFormat.JAVA
    if is_js(category):
        return Language.JAVASCRIPT, ReturnFormat.JAVASCRIPT
    return Language.PYTHON, ReturnFormat.PYTHON
