"""The model a name stands for, in every form that clouds, gateways and agents give it; or the nearest ones.

Models: gateways and regions in front of an id, ARNs, resource paths, versions of a deployment, dates behind
an at sign, one tag.
Does not model: families. A name that is not listed is unknown.
Source: forms seen in public settings and logs up to 2026-11; the Messages API itself takes none of them.
"""

from __future__ import annotations

from ctxlab.catalogue.model import Model
from ctxlab.catalogue.reading import catalogue
from ctxlab.errors import Problem, UnknownModelError


def models() -> tuple[Model, ...]:
    """Every model of the catalogue: current ones, newest generation first, then retired ones."""
    return catalogue().models


def get_model(name: str | Model) -> Model:
    """The model a name stands for.

    Names are ids, aliases, dated ids, the forms clouds and gateways give them
    (``us.anthropic.claude-opus-4-5-20251101-v1:0``, also behind an ARN; ``anthropic/claude-sonnet-4.5``;
    ``claude-opus-4-5@20251101``, also behind a resource path), ids with a dot for the version and ids with
    the tag ``[1m]``. That tag asks for a long window, which Sonnet 4 and 4.5 once had as a beta: it names the
    same model, whose window here is the one without the beta. There is no guessing by family: a name that is
    not listed raises :class:`UnknownModelError`, which holds the nearest ids.

    >>> get_model("us.anthropic.claude-opus-4-5-20251101-v1:0").id
    'claude-opus-4-5'
    >>> try:
    ...     get_model("claude-sonet-5")
    ... except UnknownModelError as error:
    ...     error.nearest[0]
    'claude-sonnet-5'
    """
    if isinstance(name, Model):
        return name
    if isinstance(name, str):
        by_name = catalogue().by_name
        for form in (name, *_plain_forms(name)):
            if form in by_name:
                return by_name[form]
    raise _unknown(name)


#: How gateways and clouds wrap an id. A name outside this list of wrappers is not unwrapped.
_GATEWAYS = (
    *("anthropic", "azure", "azure_ai", "bedrock", "bedrock_converse", "converse", "google-vertex"),
    *("invoke", "litellm_proxy", "openrouter", "vercel", "vertex", "vertex_ai"),
)
_REGIONS = ("us", "eu", "apac", "au", "jp", "ca", "us-gov", "global")
_WRAPPERS = (
    rf"(?:(?:{'|'.join(_GATEWAYS)})[/:])*",
    r"(?:(?<=[/:])[a-z]{2}(?:-[a-z]+)+-\d/)?",  # a region of Bedrock, behind the gateway's name
    r"(?:arn:aws[a-z-]*:bedrock:[^/]*/|(?:projects/[^/]+/locations/[^/]+/)?publishers/anthropic/models/)?",
)

#: The one tag that coding agents put behind an id; any other makes a name unknown.
_LONG_WINDOW = "[1m]"


def _plain_forms(name: str) -> tuple[str, str]:
    """The id inside a cloud's or gateway's form of a name, as it stands and with its dots as dashes."""
    import re

    bare = re.sub(f"^{''.join(_WRAPPERS)}", "", name)
    bare = re.sub(rf"^(?:{'|'.join(_REGIONS)})\.(?=anthropic\.)", "", bare).removesuffix(_LONG_WINDOW)
    if bare.startswith("anthropic."):
        # the version of the deployment, and of those with a shorter window how long it is
        bare = re.sub(r"-v\d+(:\d+)?(:\d+k)?$", "", bare.removeprefix("anthropic."))
    bare = re.sub(r"(?:-v\d+)?@(\d{8})$", r"-\1", bare.removesuffix("@default"))
    return bare, re.sub(r"(?<=\d)\.(?=\d)", "-", bare)


def _unknown(name: object) -> UnknownModelError:
    import re
    from difflib import get_close_matches

    nearest: tuple[str, ...] = ()
    reason = "is in no list of models"
    if isinstance(name, str):
        by_name = catalogue().by_name
        asked = _plain_forms(name[:200].strip().lower())[1].partition("[")[0]
        close = get_close_matches(asked, list(by_name), n=6, cutoff=0.6)
        if not close and len(asked) > 2:  # one word of an id is too short to be close to any
            close = [known_name for known_name in by_name if asked in known_name]
        undated = re.sub(r"-(?:\d{8}|latest|v\d+(?::\d+)?)$", "", asked)
        # some editors name the version ahead of the line, as the ids of the third generation did
        turned = re.sub(r"^claude-(\d+(?:-\d)?)-([a-z]+)", r"claude-\2-\1", undated)
        close[:0] = [form for form in (undated, turned) if form in by_name]
        nearest = tuple(dict.fromkeys(by_name[match].id for match in close))[:3]
        _, bracket, tag = name.removesuffix(_LONG_WINDOW).partition("[")
        if bracket:
            reason = f"has the tag {bracket + tag[:20]}, and only {_LONG_WINDOW} is known"
    fix = f"did you mean {', '.join(nearest)}?" if nearest else "catalogue.models() lists them all"
    shown = repr(name) if len(repr(name)) <= 80 else repr(name)[:77] + "..."
    return UnknownModelError(Problem("model", "known-model", f"{shown} {reason}", fix), nearest=nearest)
