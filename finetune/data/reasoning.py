"""Reasoning in responses, kept or stripped. What is left is defined exactly.

A response is ``<think>REASONING</think>ANSWER`` or ``<think>REASONING</think><answer>ANSWER</answer>``, or an answer
alone, in ``<answer>`` tags or not. White space may stand between the parts, and nothing else.

* ``keep``: the response as it is, with its tags, without white space at its ends.
* ``strip``: ANSWER alone, without the tags and without white space at its ends.

A response with a tag that lacks its partner, that stands there twice or out of order, or with text outside of the parts
is broken, whichever is asked for: what it teaches would be a broken form.
"""

from __future__ import annotations

import re

from finetune.data.conversation import BROKEN_TAGS, NO_RESPONSE, OTHER_TAGS
from verieval.blocks import remove_reasoning

TAGS = ("<think>", "</think>", "<answer>", "</answer>")
_TAG = re.compile(r"</?(?:think|answer)>")
_WHOLE = re.compile(
    r"\s*(?:<think>(?P<reasoning>.*?)</think>)?\s*(?:<answer>(?P<inside>.*?)</answer>\s*|(?P<bare>.*))", re.DOTALL
)


def answer_of(response: str, *, keep: bool) -> tuple[str, str]:
    """A response as it is trained on.

    Args:
        response: as the data set has it.
        keep: with its reasoning.

    Returns:
        The text, and the reason to drop the row, of which one is empty.
    """
    tags = _TAG.findall(response)
    match = _WHOLE.fullmatch(response)
    if match is None or not _is_whole(tags) or (tags and match["bare"] and _TAG.search(match["bare"])):
        return "", BROKEN_TAGS
    answer = (match["inside"] if match["inside"] is not None else match["bare"]).strip()
    if not answer:
        return "", NO_RESPONSE
    if keep:
        return response.strip(), ""
    if remove_reasoning(answer)[1]:
        return "", OTHER_TAGS
    return answer, ""


def asks_for_tags(text: str) -> bool:
    """The text speaks of the tags, as the system turn of a data set with reasoning does."""
    return _TAG.search(text) is not None


def _is_whole(tags: list[str]) -> bool:
    return tags in ([], list(TAGS[:2]), list(TAGS[2:]), list(TAGS))
