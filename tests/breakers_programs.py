"""Programs with and without prefix breakers, each with what a scan has to say: one promise per name.

Written for these tests. ``confirmed`` and ``suspected`` are all the codes a scan may report.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Program:
    """One module: its promise, its code, the codes that are confirmed and suspected in it."""

    promise: str
    code: str
    confirmed: frozenset[str] = frozenset()
    suspected: frozenset[str] = frozenset()


def program(promise: str, confirmed: str, code: str, suspected: str = "") -> Program:
    """A program whose codes are told as words."""
    return Program(promise, code.lstrip(), frozenset(confirmed.split()), frozenset(suspected.split()))


VALUES = [
    program(
        "a_clock_in_an_f_string_reaches_system",
        "CTX101",
        """
import anthropic
from datetime import datetime

client = anthropic.Anthropic()

def ask(question):
    system = f"You are a tutor. It is {datetime.now()}."
    return client.messages.create(
        model="m", max_tokens=9, system=system, messages=[{"role": "user", "content": question}]
    )
""",
    ),
    program(
        "a_clock_in_the_newest_user_message_is_behind_everything",
        "",
        """
from datetime import datetime

def ask(client, question):
    return client.messages.create(
        model="m",
        max_tokens=9,
        system=[{"type": "text", "text": RULES, "cache_control": {"type": "ephemeral"}}],
        messages=[{"role": "user", "content": f"[{datetime.now():%H:%M:%S}] {question}"}],
    )
""",
    ),
    program(
        "a_clock_behind_the_last_marker_of_system_does_not_fire",
        "",
        """
from datetime import datetime

def ask(client, question):
    blocks = [{"type": "text", "text": RULES, "cache_control": {"type": "ephemeral"}}]
    blocks.append({"type": "text", "text": "Now: " + datetime.now().isoformat()})
    return client.messages.create(
        model="m", max_tokens=9, system=blocks, messages=[{"role": "user", "content": question}]
    )
""",
    ),
    program(
        "a_clock_behind_one_marker_and_before_another_fires",
        "CTX101",
        """
from datetime import datetime

def ask(client, question):
    blocks = [{"type": "text", "text": RULES, "cache_control": {"type": "ephemeral"}}]
    blocks.append({"type": "text", "text": "Now: " + datetime.now().isoformat()})
    return client.messages.create(
        model="m",
        max_tokens=9,
        system=blocks,
        messages=[
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": question, "cache_control": {"type": "ephemeral"}}
                ],
            }
        ],
    )
""",
    ),
    program(
        "automatic_caching_marks_behind_the_clock",
        "CTX101",
        """
from datetime import datetime

def ask(client, question):
    blocks = [
        {"type": "text", "text": RULES, "cache_control": {"type": "ephemeral"}},
        {"type": "text", "text": "Now: %s" % datetime.now()},
    ]
    return client.messages.create(
        model="m",
        max_tokens=9,
        system=blocks,
        cache_control={"type": "ephemeral"},
        messages=[{"role": "user", "content": question}],
    )
""",
    ),
    program(
        "a_bare_date_is_suspected",
        "",
        """
from datetime import date

def ask(client, q):
    return client.messages.create(
        model="m", system="Today is " + str(date.today()), messages=[{"role": "user", "content": q}]
    )
""",
        "CTX101",
    ),
    program(
        "strftime_of_a_date_is_suspected",
        "",
        """
import datetime

def ask(client, q):
    today = datetime.datetime.now().strftime("%A, %d %B %Y")
    return client.messages.create(
        model="m", system="Today is {}".format(today), messages=[{"role": "user", "content": q}]
    )
""",
        "CTX101",
    ),
    program(
        "strftime_with_minutes_is_confirmed",
        "CTX101",
        """
import datetime as dt

def ask(client, q):
    today = dt.datetime.now(dt.timezone.utc).strftime("%Y-%m-%d %H:%M")
    return client.messages.create(
        model="m", system="Now {}".format(today), messages=[{"role": "user", "content": q}]
    )
""",
    ),
    program(
        "iso_sliced_to_the_date_is_suspected",
        "",
        """
from datetime import datetime, timezone

def ask(client, q):
    return client.messages.create(
        model="m",
        system="Date: " + datetime.now(timezone.utc).isoformat()[:10],
        messages=[{"role": "user", "content": q}],
    )
""",
        "CTX101",
    ),
    program(
        "iso_split_at_t_is_suspected",
        "",
        """
from datetime import datetime, timezone

def ask(client, q):
    return client.messages.create(
        model="m",
        system="Date: " + datetime.now().isoformat().split("T")[0],
        messages=[{"role": "user", "content": q}],
    )
""",
        "CTX101",
    ),
    program(
        "date_method_is_suspected",
        "",
        """
from datetime import datetime

def ask(client, q):
    d = datetime.now().date()
    return client.messages.create(
        model="m", system=f"Date: {d.isoformat()}", messages=[{"role": "user", "content": q}]
    )
""",
        "CTX101",
    ),
    program(
        "f_string_spec_of_a_date_is_suspected",
        "",
        """
from datetime import datetime

def ask(client, q):
    now = datetime.now()
    return client.messages.create(
        model="m", system=f"Date: {now:%Y-%m-%d}", messages=[{"role": "user", "content": q}]
    )
""",
        "CTX101",
    ),
    program(
        "whole_days_of_epoch_are_suspected",
        "",
        """
import time

def ask(client, q):
    day = int(time.time()) // 86400
    return client.messages.create(
        model="m", system=f"Day {day}", messages=[{"role": "user", "content": q}]
    )
""",
        "CTX101",
    ),
    program(
        "epoch_seconds_reach_a_tool",
        "CTX101",
        """
import time

def ask(client, q):
    tools = [
        {
            "name": "look",
            "description": f"Look. v{int(time.time())}",
            "input_schema": {"type": "object"},
        }
    ]
    return client.messages.create(model="m", tools=tools, messages=[{"role": "user", "content": q}])
""",
    ),
    program(
        "a_helper_of_a_helper_carries_the_clock",
        "CTX101",
        """
from datetime import datetime

def stamp():
    return datetime.utcnow().strftime("%c")

def header(name):
    return "\\n".join(["You are " + name, stamp()])

def build(name="Bot"):
    text = header(name)
    text += "\\nBe kind."
    return text

async def reply(client, history):
    async with client.messages.stream(
        model="m", max_tokens=5, system=build(), messages=history
    ) as s:
        return await s.get_final_message()
""",
    ),
    program(
        "a_clock_that_is_only_logged_is_clean",
        "",
        """
import logging
from datetime import datetime

log = logging.getLogger(__name__)

def ask(client, q):
    started = datetime.now()
    log.info("asking at %s", started)
    r = client.messages.create(
        model="m",
        system=RULES,
        messages=[{"role": "user", "content": q}],
        metadata={"user_id": str(started)},
    )
    print(datetime.now() - started)
    return r
""",
    ),
    program(
        "a_clock_overwritten_before_it_is_sent_is_clean",
        "",
        """
from datetime import datetime

def ask(client, q):
    system = f"{datetime.now()}"
    print(system)
    system = "You are kind."
    return client.messages.create(
        model="m", system=system, messages=[{"role": "user", "content": q}]
    )
""",
    ),
    program(
        "a_clock_in_extra_headers_is_clean",
        "",
        """
import uuid

def ask(client, q):
    return client.messages.create(
        model="m",
        system=RULES,
        extra_headers={"x-request-id": str(uuid.uuid4())},
        messages=[{"role": "user", "content": q}],
    )
""",
    ),
    program(
        "a_uuid_in_system_through_a_class",
        "CTX102",
        """
from uuid import uuid4

class Agent:
    def __init__(self, client):
        self.client = client
        self.base = "You are an agent."

    def _system(self):
        return self.base + f" Run {uuid4()}."

    def run(self, text):
        return self.client.messages.create(
            model="m", system=self._system(), messages=[{"role": "user", "content": text}]
        )
""",
    ),
    program(
        "a_uuid_made_in_init_is_suspected",
        "",
        """
import uuid

class Agent:
    def __init__(self, client):
        self.client = client
        self.run_id = uuid.uuid4().hex

    def run(self, text):
        return self.client.messages.create(
            model="m", system=f"Run {self.run_id}", messages=[{"role": "user", "content": text}]
        )
""",
        "CTX102",
    ),
    program(
        "a_clock_of_the_module_is_suspected",
        "",
        """
from datetime import datetime

STARTED = datetime.now().isoformat()
SYSTEM = f"You are up since {STARTED}"

def ask(client, text):
    return client.messages.create(
        model="m", system=SYSTEM, messages=[{"role": "user", "content": text}]
    )
""",
        "CTX101",
    ),
    program(
        "uuid5_is_the_same_each_time",
        "",
        """
import uuid

def ask(client, text):
    return client.messages.create(
        model="m",
        system=f"Id {uuid.uuid5(uuid.NAMESPACE_DNS, 'x')}",
        messages=[{"role": "user", "content": text}],
    )
""",
    ),
    program(
        "a_uuid_in_metadata_is_clean",
        "",
        """
import uuid

def ask(client, text):
    return client.messages.create(
        model="m",
        system=RULES,
        metadata={"user_id": str(uuid.uuid4())},
        messages=[{"role": "user", "content": text}],
    )
""",
    ),
    program(
        "random_examples_in_system",
        "CTX102",
        """
import random

EXAMPLES = ["a", "b", "c", "d"]

def ask(client, text):
    shots = random.sample(EXAMPLES, 2)
    system = "Examples:\\n" + "\\n".join(shots)
    return client.messages.create(
        model="m", system=system, messages=[{"role": "user", "content": text}]
    )
""",
    ),
    program(
        "seeded_examples_are_clean",
        "",
        """
import random

EXAMPLES = ["a", "b", "c", "d"]

def ask(client, text):
    rng = random.Random(7)
    shots = rng.sample(EXAMPLES, 2)
    system = "Examples:\\n" + "\\n".join(shots)
    return client.messages.create(
        model="m", system=system, messages=[{"role": "user", "content": text}]
    )
""",
    ),
    program(
        "a_shuffled_tool_list",
        "CTX203",
        """
import random

def ask(client, text):
    tools = [SEARCH, READ, WRITE]
    random.shuffle(tools)
    return client.messages.create(
        model="m", tools=tools, messages=[{"role": "user", "content": text}]
    )
""",
    ),
    program(
        "shuffled_then_sorted_is_clean",
        "",
        """
import random

def ask(client, text):
    tools = [SEARCH, READ, WRITE]
    random.shuffle(tools)
    tools.sort(key=lambda t: t["name"])
    return client.messages.create(
        model="m", tools=tools, messages=[{"role": "user", "content": text}]
    )
""",
    ),
    program(
        "hash_of_the_prompt_as_a_version",
        "CTX103",
        """
def ask(client, text, rules):
    version = hash(rules)
    return client.messages.create(
        model="m",
        system=f"{rules}\\n(version {version})",
        messages=[{"role": "user", "content": text}],
    )
""",
    ),
    program(
        "sha256_of_the_prompt_is_clean",
        "",
        """
import hashlib

def ask(client, text, rules):
    version = hashlib.sha256(rules.encode()).hexdigest()[:8]
    return client.messages.create(
        model="m",
        system=f"{rules}\\n(version {version})",
        messages=[{"role": "user", "content": text}],
    )
""",
    ),
    program(
        "id_of_self_in_a_tool",
        "CTX103",
        """
class T:
    def tools(self):
        return [{"name": f"t_{id(self)}", "input_schema": {}}]

    def go(self, client, text):
        return client.messages.create(
            model="m", tools=self.tools(), messages=[{"role": "user", "content": text}]
        )
""",
    ),
    program(
        "the_address_of_a_function",
        "CTX103",
        """
def lookup(q): ...
def ask(client, text):
    system = f"Use {lookup} when unsure."
    return client.messages.create(
        model="m", system=system, messages=[{"role": "user", "content": text}]
    )
""",
    ),
    program(
        "the_name_of_a_function_is_clean",
        "",
        """
def lookup(q): ...
def ask(client, text):
    system = f"Use {lookup.__name__} when unsure."
    return client.messages.create(
        model="m", system=system, messages=[{"role": "user", "content": text}]
    )
""",
    ),
    program(
        "the_address_of_an_object_without_repr",
        "CTX103",
        """
class Config:
    def __init__(self):
        self.x = 1

def ask(client, text):
    cfg = Config()
    return client.messages.create(
        model="m", system=f"Config: {cfg}", messages=[{"role": "user", "content": text}]
    )
""",
    ),
    program(
        "an_object_with_its_own_text_is_clean",
        "",
        """
from dataclasses import dataclass

@dataclass
class Config:
    x: int = 1

def ask(client, text):
    cfg = Config()
    return client.messages.create(
        model="m", system=f"Config: {cfg}", messages=[{"role": "user", "content": text}]
    )
""",
    ),
    program(
        "a_pid_in_system",
        "CTX105",
        """
import os

def ask(client, text):
    return client.messages.create(
        model="m", system=f"Worker {os.getpid()}", messages=[{"role": "user", "content": text}]
    )
""",
    ),
    program(
        "a_temporary_folder_in_system",
        "CTX105",
        """
import tempfile

def run(client, text):
    with tempfile.TemporaryDirectory() as work:
        return client.messages.create(
            model="m",
            system=f"Your folder is {work}.",
            messages=[{"role": "user", "content": text}],
        )
""",
    ),
    program(
        "the_working_folder_is_suspected",
        "",
        """
import os
from pathlib import Path

def run(client, text):
    return client.messages.create(
        model="m", system=f"cwd {Path.cwd()}", messages=[{"role": "user", "content": text}]
    )
""",
        "CTX105",
    ),
    program(
        "a_pid_for_a_file_name_is_clean",
        "",
        """
import os

def run(client, text):
    log = open(f"/tmp/{os.getpid()}.log", "w")
    return client.messages.create(
        model="m", system=RULES, messages=[{"role": "user", "content": text}]
    )
""",
    ),
    program(
        "a_users_name_in_a_tool",
        "CTX104",
        """
def tools_for(user):
    return [
        {"name": "search", "description": f"Search the files of {user.name}.", "input_schema": {}}
    ]

def ask(client, user, text):
    return client.messages.create(
        model="m", tools=tools_for(user), messages=[{"role": "user", "content": text}]
    )
""",
    ),
    program(
        "a_users_name_in_system_fires",
        "CTX104",
        """
def ask(client, user, text):
    return client.messages.create(
        model="m", system=f"You help {user.name}", messages=[{"role": "user", "content": text}]
    )
""",
    ),
    program(
        "a_users_name_in_the_newest_message_is_clean",
        "",
        """
def ask(client, user, text):
    return client.messages.create(
        model="m", system=RULES, messages=[{"role": "user", "content": f"{user.name}: {text}"}]
    )
""",
    ),
    program(
        "a_user_id_for_metadata_is_clean",
        "",
        """
def ask(client, user_id, text):
    return client.messages.create(
        model="m",
        system=RULES,
        metadata={"user_id": user_id},
        messages=[{"role": "user", "content": text}],
    )
""",
    ),
    program(
        "tools_filtered_by_a_users_rights",
        "CTX104",
        """
def ask(client, user, text):
    tools = [t for t in ALL_TOOLS if t["name"] in user.permissions]
    return client.messages.create(
        model="m", tools=tools, messages=[{"role": "user", "content": text}]
    )
""",
    ),
    program(
        "json_of_kwargs_without_sort_keys",
        "",
        """
import json

def ask(client, text, **settings):
    return client.messages.create(
        model="m",
        system="Settings: " + json.dumps(settings),
        messages=[{"role": "user", "content": text}],
    )
""",
        "CTX201",
    ),
    program(
        "json_of_kwargs_with_sort_keys",
        "",
        """
import json

def ask(client, text, **settings):
    return client.messages.create(
        model="m",
        system="Settings: " + json.dumps(settings, sort_keys=True),
        messages=[{"role": "user", "content": text}],
    )
""",
    ),
    program(
        "json_of_an_unknown_value_is_suspected",
        "",
        """
import json

def ask(client, text, profile):
    return client.messages.create(
        model="m",
        system="Profile: " + json.dumps(profile, indent=2),
        messages=[{"role": "user", "content": text}],
    )
""",
        "CTX201",
    ),
    program(
        "json_of_a_literal_dict_is_clean",
        "",
        """
import json

SCHEMA = {"type": "object", "properties": {"a": {"type": "string"}}}

def ask(client, text):
    return client.messages.create(
        model="m",
        system="Schema: " + json.dumps(SCHEMA),
        messages=[{"role": "user", "content": text}],
    )
""",
    ),
    program(
        "json_of_a_dict_built_from_a_set",
        "CTX201",
        """
import json

def ask(client, text):
    langs = {"de", "en", "fr"}
    table = {lang: lang.upper() for lang in langs}
    return client.messages.create(
        model="m",
        system="Langs: " + json.dumps(table),
        messages=[{"role": "user", "content": text}],
    )
""",
    ),
    program(
        "json_of_a_dict_built_from_a_set_with_sort_keys",
        "",
        """
import json

def ask(client, text):
    langs = {"de", "en", "fr"}
    table = {lang: lang.upper() for lang in langs}
    return client.messages.create(
        model="m",
        system="Langs: " + json.dumps(table, sort_keys=True),
        messages=[{"role": "user", "content": text}],
    )
""",
    ),
    program(
        "a_joined_set",
        "CTX202",
        """
ALLOWED = {"read", "write", "list"}

def ask(client, text):
    return client.messages.create(
        model="m",
        system="Allowed: " + ", ".join(ALLOWED),
        messages=[{"role": "user", "content": text}],
    )
""",
    ),
    program(
        "a_sorted_set_is_clean",
        "",
        """
ALLOWED = {"read", "write", "list"}

def ask(client, text):
    return client.messages.create(
        model="m",
        system="Allowed: " + ", ".join(sorted(ALLOWED)),
        messages=[{"role": "user", "content": text}],
    )
""",
    ),
    program(
        "membership_in_a_set_is_clean",
        "",
        """
ALLOWED = {"read", "write", "list"}

def ask(client, text):
    tools = [t for t in TOOLS if t["name"] in ALLOWED]
    return client.messages.create(
        model="m", tools=tools, messages=[{"role": "user", "content": text}]
    )
""",
    ),
    program(
        "tools_built_by_walking_a_set",
        "CTX203",
        """
def ask(client, text, names):
    chosen = set(names) | {"help"}
    tools = []
    for name in chosen:
        tools.append({"name": name, "input_schema": {}})
    return client.messages.create(
        model="m", tools=tools, messages=[{"role": "user", "content": text}]
    )
""",
    ),
    program(
        "a_call_per_item_of_a_set_is_clean",
        "",
        """
def translate(client, text):
    out = {}
    for lang in {"de", "fr", "it"}:
        out[lang] = client.messages.create(
            model="m", system=f"Translate into {lang}", messages=[{"role": "user", "content": text}]
        )
    return out
""",
    ),
    program(
        "required_from_a_set_in_a_schema",
        "CTX202",
        """
def schema(fields):
    return {"type": "object", "properties": fields, "required": list(set(fields))}

def ask(client, text):
    tools = [{"name": "save", "input_schema": schema({"a": {}, "b": {}})}]
    return client.messages.create(
        model="m", tools=tools, messages=[{"role": "user", "content": text}]
    )
""",
    ),
    program(
        "a_list_of_files_unsorted_is_suspected",
        "",
        """
import os

def ask(client, text, folder):
    listing = "\\n".join(os.listdir(folder))
    return client.messages.create(
        model="m", system=f"Files:\\n{listing}", messages=[{"role": "user", "content": text}]
    )
""",
        "CTX204",
    ),
    program(
        "a_list_of_files_sorted_is_clean",
        "",
        """
import os

def ask(client, text, folder):
    listing = "\\n".join(sorted(os.listdir(folder)))
    return client.messages.create(
        model="m", system=f"Files:\\n{listing}", messages=[{"role": "user", "content": text}]
    )
""",
    ),
    program(
        "tools_as_servers_answer",
        "CTX203",
        """
import asyncio

async def tools_of(servers):
    tools = []
    for done in asyncio.as_completed([s.list_tools() for s in servers]):
        tools.extend(await done)
    return tools

async def ask(client, servers, text):
    return await client.messages.create(
        model="m", tools=await tools_of(servers), messages=[{"role": "user", "content": text}]
    )
""",
    ),
    program(
        "tools_in_the_order_of_servers_is_clean",
        "",
        """
import asyncio

async def tools_of(servers):
    tools = []
    for found in await asyncio.gather(*[s.list_tools() for s in servers]):
        tools.extend(found)
    return tools

async def ask(client, servers, text):
    return await client.messages.create(
        model="m", tools=await tools_of(servers), messages=[{"role": "user", "content": text}]
    )
""",
    ),
    program(
        "tools_from_files_unsorted_is_suspected",
        "",
        """
import json
from pathlib import Path

def load():
    return [json.loads(p.read_text()) for p in Path("tools").glob("*.json")]

def ask(client, text):
    return client.messages.create(
        model="m", tools=load(), messages=[{"role": "user", "content": text}]
    )
""",
        "CTX203",
    ),
]

SESSIONS = [
    program(
        "a_clock_read_each_turn_in_a_loop",
        "CTX101",
        """
from datetime import datetime

def main(client):
    messages = []
    while True:
        messages.append({"role": "user", "content": input("> ")})
        r = client.messages.create(
            model="m", max_tokens=9, system=f"Now {datetime.now()}", messages=messages
        )
        messages.append({"role": "assistant", "content": r.content})
""",
    ),
    program(
        "a_clock_read_once_before_the_loop_is_suspected",
        "",
        """
from datetime import datetime

def main(client):
    messages = []
    system = f"Session started {datetime.now()}"
    while True:
        messages.append({"role": "user", "content": input("> ")})
        r = client.messages.create(model="m", max_tokens=9, system=system, messages=messages)
        messages.append({"role": "assistant", "content": r.content})
""",
        "CTX101",
    ),
    program(
        "a_clock_per_user_turn_with_a_tool_loop_inside",
        "CTX101",
        """
from datetime import datetime

class Agent:
    def __init__(self, client):
        self.client = client
        self.messages = []

    def run(self, text):
        self.messages.append({"role": "user", "content": text})
        system = f"You are an agent. Time: {datetime.now():%H:%M:%S}"
        while True:
            r = self.client.messages.create(
                model="m", max_tokens=9, system=system, messages=self.messages, tools=TOOLS
            )
            self.messages.append({"role": "assistant", "content": r.content})
            if r.stop_reason != "tool_use":
                return r
            self.messages.append({"role": "user", "content": run_tools(r)})
""",
    ),
    program(
        "stamps_kept_in_the_history_are_clean",
        "",
        """
from datetime import datetime

class Agent:
    def __init__(self, client):
        self.client = client
        self.messages = []

    def run(self, text):
        self.messages.append({"role": "user", "content": f"[{datetime.now()}] {text}"})
        while True:
            r = self.client.messages.create(
                model="m", max_tokens=9, system=RULES, messages=self.messages, tools=TOOLS
            )
            self.messages.append({"role": "assistant", "content": r.content})
            if r.stop_reason != "tool_use":
                return r
            self.messages.append({"role": "user", "content": run_tools(r)})
""",
    ),
    program(
        "history_rendered_anew_with_a_clock",
        "CTX101",
        """
from datetime import datetime

def ask(client, history, text):
    messages = [{"role": m["role"], "content": f"({datetime.now()}) {m['text']}"} for m in history]
    messages.append({"role": "user", "content": text})
    return client.messages.create(model="m", system=RULES, messages=messages)
""",
    ),
    program(
        "a_first_message_with_a_clock_before_the_history",
        "CTX101",
        """
from datetime import datetime

def ask(client, history, text):
    messages = [
        {"role": "user", "content": f"Context as of {datetime.now()}"},
        {"role": "assistant", "content": "ok"},
    ]
    messages += history
    messages.append({"role": "user", "content": text})
    return client.messages.create(model="m", system=RULES, messages=messages)
""",
    ),
    program(
        "a_system_role_message_with_a_clock",
        "CTX101",
        """
from datetime import datetime
import litellm

def ask(history, text):
    messages = [
        {"role": "system", "content": f"Be kind. {datetime.now().isoformat()}"},
        *history,
        {"role": "user", "content": text},
    ]
    return litellm.completion(model="anthropic/claude", messages=messages)
""",
    ),
    program(
        "a_turn_scoped_system_message_at_the_end_is_clean",
        "",
        """
from datetime import datetime

def ask(client, history, text):
    messages = [
        *history,
        {"role": "user", "content": text},
        {"role": "system", "content": f"Now {datetime.now()}"},
    ]
    return client.messages.create(model="m", system=RULES, messages=messages)
""",
    ),
    program(
        "system_grows_each_turn",
        "CTX302",
        """
def main(client):
    messages = []
    system = "You are kind."
    while True:
        text = input()
        messages.append({"role": "user", "content": text})
        r = client.messages.create(model="m", system=system, messages=messages)
        messages.append({"role": "assistant", "content": r.content})
        system += "\\nRemember: " + r.content[0].text
""",
    ),
    program(
        "system_put_together_in_a_loop_before_the_calls_is_clean",
        "",
        """
def main(client):
    messages = []
    system = "You are kind."
    for rule in RULES:
        system += "\\n" + rule
    while True:
        messages.append({"role": "user", "content": input()})
        r = client.messages.create(model="m", system=system, messages=messages)
        messages.append({"role": "assistant", "content": r.content})
""",
    ),
    program(
        "system_put_together_anew_each_turn_the_same_is_clean",
        "",
        """
def main(client):
    messages = []
    while True:
        messages.append({"role": "user", "content": input()})
        system = "You are kind."
        for rule in RULES:
            system += "\\n" + rule
        r = client.messages.create(model="m", system=system, messages=messages)
        messages.append({"role": "assistant", "content": r.content})
""",
    ),
    program(
        "an_attribute_edited_between_calls",
        "CTX302",
        """
class Bot:
    def __init__(self, client):
        self.client = client
        self.history = []
        self.system = "Base"

    def say(self, text):
        self.history.append({"role": "user", "content": text})
        r = self.client.messages.create(model="m", system=self.system, messages=self.history)
        self.history.append({"role": "assistant", "content": r.content})
        self.system += "\\n- " + r.content[0].text
        return r
""",
    ),
    program(
        "what_was_found_for_the_question_in_system",
        "CTX302",
        """
class Bot:
    def __init__(self, client, store):
        self.client, self.store = client, store
        self.messages = []

    def say(self, question):
        self.messages.append({"role": "user", "content": question})
        found = self.store.search(question)
        return self.client.messages.create(
            model="m", system=f"{RULES}\\n{found}", messages=self.messages
        )
""",
    ),
    program(
        "the_question_itself_in_system",
        "CTX302",
        """
class Bot:
    def __init__(self, client):
        self.client = client
        self.messages = []

    def say(self, question):
        self.messages.append({"role": "user", "content": question})
        return self.client.messages.create(
            model="m", system=f"{RULES}\\nCurrent goal: {question}", messages=self.messages
        )
""",
    ),
    program(
        "a_document_per_call_in_system_is_clean",
        "",
        """
def summaries(client, docs):
    for doc in docs:
        yield client.messages.create(
            model="m",
            system=f"Summarise {doc.title}",
            messages=[{"role": "user", "content": doc.text}],
        )
""",
    ),
    program(
        "a_request_dict_edited_in_the_loop",
        "CTX302",
        """
def main(client):
    request = {"model": "m", "max_tokens": 9, "system": "Base", "messages": []}
    while True:
        request["messages"].append({"role": "user", "content": input()})
        r = client.messages.create(**request)
        request["messages"].append({"role": "assistant", "content": r.content})
        request["system"] += " " + r.content[0].text
""",
    ),
    program(
        "a_request_dict_filled_before_it_is_sent_is_clean",
        "",
        """
def ask(client, text):
    request = {"model": "m", "max_tokens": 9}
    request["system"] = "Base"
    request["messages"] = [{"role": "user", "content": text}]
    return client.messages.create(**request)
""",
    ),
    program(
        "a_request_dict_with_a_clock",
        "CTX101",
        """
from datetime import datetime

def build(text):
    request = dict(model="m", max_tokens=9)
    request["system"] = "Base " + datetime.now().ctime()
    request["messages"] = [{"role": "user", "content": text}]
    return request
""",
    ),
    program(
        "turn_numbers_in_system",
        "CTX302",
        """
def main(client):
    messages = []
    for turn in range(20):
        messages.append({"role": "user", "content": input()})
        r = client.messages.create(model="m", system=f"Turn {turn} of 20", messages=messages)
        messages.append({"role": "assistant", "content": r.content})
""",
    ),
    program(
        "retries_are_no_turns",
        "CTX101",
        """
import time

def ask(client, text):
    system = f"Now {time.time()}"
    for attempt in range(3):
        try:
            return client.messages.create(
                model="m", system=system, messages=[{"role": "user", "content": text}]
            )
        except Exception:
            time.sleep(2**attempt)
""",
    ),
    program(
        "tools_added_in_the_loop",
        "CTX308",
        """
def main(client):
    messages, tools = [], [SEARCH]
    while True:
        messages.append({"role": "user", "content": input()})
        r = client.messages.create(model="m", tools=tools, messages=messages)
        messages.append({"role": "assistant", "content": r.content})
        if wants_more(r):
            tools.append(EXTRA)
""",
    ),
    program(
        "tools_registered_before_are_clean",
        "",
        """
class Agent:
    def __init__(self, client):
        self.client = client
        self.tools = []
        self.messages = []

    def register(self, tool):
        self.tools.append(tool)

    def run(self, text):
        self.messages.append({"role": "user", "content": text})
        return self.client.messages.create(model="m", tools=self.tools, messages=self.messages)
""",
    ),
    program(
        "a_sliding_window_of_the_history",
        "CTX303",
        """
def ask(client, history, text):
    messages = history[-10:] + [{"role": "user", "content": text}]
    return client.messages.create(model="m", messages=messages)
""",
    ),
    program(
        "only_the_newest_message_is_no_window",
        "",
        """
def ask(client, history):
    return client.messages.create(model="m", system=RULES, messages=history[-1:])
""",
    ),
    program(
        "a_window_in_the_loop",
        "CTX303",
        """
def main(client):
    messages = []
    while True:
        messages.append({"role": "user", "content": input()})
        messages = messages[-20:]
        r = client.messages.create(model="m", system=RULES, messages=messages)
        messages.append({"role": "assistant", "content": r.content})
""",
    ),
    program(
        "a_rare_large_cut_is_suspected",
        "",
        """
def main(client):
    messages = []
    while True:
        messages.append({"role": "user", "content": input()})
        if len(messages) > 200:
            messages = messages[-50:]
        r = client.messages.create(model="m", system=RULES, messages=messages)
        messages.append({"role": "assistant", "content": r.content})
""",
        "CTX303",
    ),
    program(
        "a_window_at_its_limit",
        "CTX303",
        """
MAX = 20

def main(client):
    messages = []
    while True:
        messages.append({"role": "user", "content": input()})
        if len(messages) > MAX:
            messages = messages[-MAX:]
        r = client.messages.create(model="m", system=RULES, messages=messages)
        messages.append({"role": "assistant", "content": r.content})
""",
    ),
    program(
        "the_oldest_popped_each_turn",
        "CTX303",
        """
def main(client):
    messages = []
    while True:
        messages.append({"role": "user", "content": input()})
        while len(messages) > 30:
            messages.pop(0)
        r = client.messages.create(model="m", system=RULES, messages=messages)
        messages.append({"role": "assistant", "content": r.content})
""",
    ),
    program(
        "the_newest_popped_after_a_failure_is_clean",
        "",
        """
def main(client):
    messages = []
    while True:
        messages.append({"role": "user", "content": input()})
        try:
            r = client.messages.create(model="m", system=RULES, messages=messages)
        except Exception:
            messages.pop()
            continue
        messages.append({"role": "assistant", "content": r.content})
""",
    ),
    program(
        "a_deque_with_a_length",
        "CTX303",
        """
from collections import deque

class Chat:
    def __init__(self, client):
        self.client = client
        self.history = deque(maxlen=12)

    def say(self, text):
        self.history.append({"role": "user", "content": text})
        return self.client.messages.create(model="m", system=RULES, messages=list(self.history))
""",
    ),
    program(
        "a_list_that_only_grows_is_clean",
        "",
        """
class Chat:
    def __init__(self, client):
        self.client = client
        self.history = []

    def say(self, text):
        self.history.append({"role": "user", "content": text})
        r = self.client.messages.create(model="m", system=RULES, messages=list(self.history))
        self.history.append({"role": "assistant", "content": r.content})
""",
    ),
    program(
        "the_first_message_rewritten_each_turn",
        "CTX303",
        """
def main(client):
    messages = [{"role": "user", "content": "Context"}, {"role": "assistant", "content": "ok"}]
    while True:
        messages.append({"role": "user", "content": input()})
        r = client.messages.create(model="m", system=RULES, messages=messages)
        messages.append({"role": "assistant", "content": r.content})
        messages[0]["content"] = "Context: " + summary(messages)
""",
    ),
    program(
        "the_newest_message_edited_is_clean",
        "",
        """
def main(client):
    messages = []
    while True:
        messages.append({"role": "user", "content": input()})
        messages[-1]["content"] = messages[-1]["content"].strip()
        r = client.messages.create(model="m", system=RULES, messages=messages)
        messages.append({"role": "assistant", "content": r.content})
""",
    ),
    program(
        "a_copy_that_is_only_logged_is_clean",
        "",
        """
import copy

def main(client):
    messages = []
    while True:
        messages.append({"role": "user", "content": input()})
        r = client.messages.create(model="m", system=RULES, messages=messages)
        messages.append({"role": "assistant", "content": r.content})
        shown = copy.deepcopy(messages)
        shown[0]["content"] = "..."
        print(shown)
""",
    ),
    program(
        "old_results_cleared_each_turn",
        "CTX303",
        """
def main(client):
    messages = []
    while True:
        messages.append({"role": "user", "content": input()})
        for m in messages[:-4]:
            m["content"] = "[cleared]"
        r = client.messages.create(model="m", system=RULES, messages=messages)
        messages.append({"role": "assistant", "content": r.content})
""",
    ),
    program(
        "a_reminder_put_in_front_each_turn",
        "CTX303",
        """
def main(client):
    messages = []
    while True:
        messages.append({"role": "user", "content": input()})
        messages.insert(0, {"role": "user", "content": reminder()})
        r = client.messages.create(model="m", system=RULES, messages=messages)
        messages.append({"role": "assistant", "content": r.content})
""",
    ),
    program(
        "a_system_message_put_in_front_of_a_list_made_anew_is_clean",
        "",
        """
def ask(client, history, text):
    messages = (
        [{"role": "system", "content": RULES}] + history + [{"role": "user", "content": text}]
    )
    return client.chat.completions.create(model="m", messages=messages)
""",
    ),
    program(
        "markers_on_each_new_message",
        "CTX402",
        """
def main(client):
    messages = []
    while True:
        messages.append(
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": input(), "cache_control": {"type": "ephemeral"}}
                ],
            }
        )
        r = client.messages.create(model="m", system=RULES, messages=messages)
        messages.append({"role": "assistant", "content": r.content})
""",
    ),
    program(
        "markers_moved_each_turn_are_clean",
        "",
        """
def main(client):
    messages = []
    while True:
        for m in messages:
            for b in m["content"]:
                if isinstance(b, dict):
                    b.pop("cache_control", None)
        messages.append(
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": input(), "cache_control": {"type": "ephemeral"}}
                ],
            }
        )
        r = client.messages.create(model="m", system=RULES, messages=messages)
        messages.append({"role": "assistant", "content": r.content})
""",
    ),
    program(
        "a_marker_on_the_first_message_only_is_clean",
        "",
        """
def main(client):
    messages = [
        {
            "role": "user",
            "content": [{"type": "text", "text": DOC, "cache_control": {"type": "ephemeral"}}],
        }
    ]
    while True:
        r = client.messages.create(model="m", system=RULES, messages=messages)
        messages.append({"role": "assistant", "content": r.content})
        messages.append({"role": "user", "content": input()})
""",
    ),
    program(
        "a_marker_set_on_the_newest_block_each_turn",
        "CTX402",
        """
def main(client):
    messages = []
    while True:
        messages.append({"role": "user", "content": [{"type": "text", "text": input()}]})
        messages[-1]["content"][-1]["cache_control"] = {"type": "ephemeral"}
        r = client.messages.create(model="m", system=RULES, messages=messages)
        messages.append({"role": "assistant", "content": r.content})
""",
    ),
    program(
        "a_marker_set_on_a_copy_each_turn_is_clean",
        "",
        """
import copy

def main(client):
    messages = []
    while True:
        messages.append({"role": "user", "content": [{"type": "text", "text": input()}]})
        sent = copy.deepcopy(messages)
        sent[-1]["content"][-1]["cache_control"] = {"type": "ephemeral"}
        r = client.messages.create(model="m", system=RULES, messages=sent)
        messages.append({"role": "assistant", "content": r.content})
""",
    ),
    program(
        "five_markers",
        "CTX406",
        """
CC = {"type": "ephemeral"}

def ask(client, text):
    return client.messages.create(
        model="m",
        tools=[{"name": "a", "input_schema": {}, "cache_control": CC}],
        system=[
            {"type": "text", "text": A, "cache_control": CC},
            {"type": "text", "text": B, "cache_control": CC},
        ],
        messages=[
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": DOC, "cache_control": CC},
                    {"type": "text", "text": text, "cache_control": CC},
                ],
            }
        ],
    )
""",
    ),
    program(
        "four_markers_are_clean",
        "",
        """
CC = {"type": "ephemeral"}

def ask(client, text):
    return client.messages.create(
        model="m",
        tools=[{"name": "a", "input_schema": {}, "cache_control": CC}],
        system=[
            {"type": "text", "text": A, "cache_control": CC},
            {"type": "text", "text": B, "cache_control": CC},
        ],
        messages=[
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": DOC, "cache_control": CC},
                    {"type": "text", "text": text},
                ],
            }
        ],
    )
""",
    ),
    program(
        "an_hour_behind_five_minutes",
        "CTX406",
        """
def ask(client, text):
    return client.messages.create(
        model="m",
        tools=[{"name": "a", "input_schema": {}, "cache_control": {"type": "ephemeral"}}],
        system=[{"type": "text", "text": A, "cache_control": {"type": "ephemeral", "ttl": "1h"}}],
        messages=[{"role": "user", "content": text}],
    )
""",
    ),
    program(
        "a_marker_on_a_volatile_block_of_its_own",
        "CTX101 CTX401",
        """
from datetime import datetime

def ask(client, text):
    return client.messages.create(
        model="m",
        system=[
            {"type": "text", "text": RULES},
            {
                "type": "text",
                "text": f"Now {datetime.now()}",
                "cache_control": {"type": "ephemeral"},
            },
        ],
        messages=[{"role": "user", "content": text}],
    )
""",
    ),
    program(
        "a_marker_on_the_question_with_its_clock",
        "CTX401",
        """
from datetime import datetime

def ask(client, text):
    return client.messages.create(
        model="m",
        system=RULES,
        messages=[
            {
                "role": "user",
                "content": [
                    {
                        "type": "text",
                        "text": f"{datetime.now()} {text}",
                        "cache_control": {"type": "ephemeral"},
                    }
                ],
            }
        ],
    )
""",
    ),
    program(
        "a_mixed_marked_block_is_a_clock_under_a_marker",
        "CTX101 CTX401",
        """
from datetime import datetime

def ask(client, text):
    return client.messages.create(
        model="m",
        system=[
            {
                "type": "text",
                "text": f"Rules...\\nNow: {datetime.now():%Y-%m-%d %H:%M:%S}",
                "cache_control": {"type": "ephemeral"},
            }
        ],
        messages=[{"role": "user", "content": text}],
    )
""",
    ),
    program(
        "models_by_turn",
        "CTX301",
        """
def main(client):
    messages = []
    turn = 0
    while True:
        messages.append({"role": "user", "content": input()})
        model = "claude-opus-5" if turn % 2 == 0 else "claude-haiku-5"
        r = client.messages.create(model=model, system=RULES, messages=messages)
        messages.append({"role": "assistant", "content": r.content})
        turn += 1
""",
    ),
    program(
        "a_model_chosen_once_is_clean",
        "",
        """
def main(client, fast):
    messages = []
    model = "claude-haiku-5" if fast else "claude-opus-5"
    while True:
        messages.append({"role": "user", "content": input()})
        r = client.messages.create(model=model, system=RULES, messages=messages)
        messages.append({"role": "assistant", "content": r.content})
""",
    ),
    program(
        "a_flag_that_stays_is_clean",
        "",
        """
class C:
    def __init__(self, client, fast):
        self.client, self.fast = client, fast
        self.messages = []

    def run(self, text):
        self.messages.append({"role": "user", "content": text})
        model = "claude-haiku-5" if self.fast else "claude-opus-5"
        return self.client.messages.create(model=model, system=RULES, messages=self.messages)
""",
    ),
    program(
        "a_random_model",
        "CTX301",
        """
import random

def ask(client, text):
    return client.messages.create(
        model=random.choice(["a", "b"]), system=RULES, messages=[{"role": "user", "content": text}]
    )
""",
    ),
    program(
        "models_in_turn_round_robin",
        "CTX301",
        """
import itertools

MODELS = itertools.cycle(["a", "b"])

class C:
    def __init__(self, client):
        self.client = client
        self.messages = []

    def run(self, text):
        self.messages.append({"role": "user", "content": text})
        return self.client.messages.create(model=next(MODELS), system=RULES, messages=self.messages)
""",
    ),
    program(
        "a_fallback_model_after_an_error_is_not_confirmed",
        "",
        """
def main(client):
    messages = []
    while True:
        messages.append({"role": "user", "content": input()})
        try:
            r = client.messages.create(model="claude-opus-5", system=RULES, messages=messages)
        except Exception:
            r = client.messages.create(model="claude-haiku-5", system=RULES, messages=messages)
        messages.append({"role": "assistant", "content": r.content})
""",
        "CTX301",
    ),
    program(
        "two_models_by_a_condition_on_one_history",
        "CTX301",
        """
def main(client):
    messages = []
    while True:
        text = input()
        messages.append({"role": "user", "content": text})
        if len(text) < 40:
            r = client.messages.create(model="claude-haiku-5", system=RULES, messages=messages)
        else:
            r = client.messages.create(model="claude-opus-5", system=RULES, messages=messages)
        messages.append({"role": "assistant", "content": r.content})
""",
    ),
    program(
        "another_model_for_other_work_is_clean",
        "",
        """
def main(client):
    messages = []
    while True:
        text = input()
        messages.append({"role": "user", "content": text})
        r = client.messages.create(model="claude-opus-5", system=RULES, messages=messages)
        messages.append({"role": "assistant", "content": r.content})
        title = client.messages.create(
            model="claude-haiku-5", messages=[{"role": "user", "content": "Title: " + text}]
        )
        print(title)
""",
    ),
    program(
        "models_compared_on_one_prompt_are_suspected",
        "",
        """
def compare(client, text):
    for model in ["claude-opus-5", "claude-haiku-5"]:
        print(
            client.messages.create(
                model=model, system=RULES, messages=[{"role": "user", "content": text}]
            )
        )
""",
        "CTX301",
    ),
    program(
        "a_cached_prompt_is_made_once",
        "",
        """
from datetime import datetime
from functools import lru_cache

@lru_cache(maxsize=1)
def system():
    return f"Up since {datetime.now()}"

def ask(client, text):
    return client.messages.create(
        model="m", system=system(), messages=[{"role": "user", "content": text}]
    )
""",
        "CTX101",
    ),
    program(
        "a_prompt_filled_once_is_kept",
        "",
        """
from datetime import datetime

class P:
    def __init__(self, client):
        self.client = client
        self._system = None

    def system(self):
        if self._system is None:
            self._system = f"Up since {datetime.now()}"
        return self._system

    def ask(self, text):
        return self.client.messages.create(
            model="m", system=self.system(), messages=[{"role": "user", "content": text}]
        )
""",
        "CTX101",
    ),
    program(
        "a_parameter_filled_when_it_is_missing",
        "CTX101",
        """
from datetime import datetime

def build(now=None):
    if now is None:
        now = datetime.now()
    return f"It is {now}"

def ask(client, text):
    return client.messages.create(
        model="m", system=build(), messages=[{"role": "user", "content": text}]
    )
""",
    ),
    program(
        "a_property_with_a_clock",
        "CTX101",
        """
from datetime import datetime

class P:
    def __init__(self, client):
        self.client = client

    @property
    def system(self):
        return f"Now {datetime.now()}"

    def ask(self, text):
        return self.client.messages.create(
            model="m", system=self.system, messages=[{"role": "user", "content": text}]
        )
""",
    ),
    program(
        "a_template_substituted",
        "CTX101",
        """
from string import Template
import datetime

T = Template("You are X. Time: $now")

def ask(client, text):
    return client.messages.create(
        model="m",
        system=T.substitute(now=datetime.datetime.now()),
        messages=[{"role": "user", "content": text}],
    )
""",
    ),
    program(
        "a_template_that_does_not_show_it_is_clean",
        "",
        """
import datetime

T = "You are {name}."

def ask(client, text):
    return client.messages.create(
        model="m",
        system=T.format(name="X", now=datetime.datetime.now()),
        messages=[{"role": "user", "content": text}],
    )
""",
    ),
    program(
        "a_placeholder_replaced",
        "CTX101",
        """
import time

PROMPT = "You are X. {{time}}"

def ask(client, text):
    return client.messages.create(
        model="m",
        system=PROMPT.replace("{{time}}", time.ctime()),
        messages=[{"role": "user", "content": text}],
    )
""",
    ),
    program(
        "a_batch_with_a_clock_per_request",
        "CTX101",
        """
from datetime import datetime

def submit(client, questions):
    return client.messages.batches.create(
        requests=[
            {
                "custom_id": f"q{i}",
                "params": {
                    "model": "m",
                    "max_tokens": 9,
                    "system": f"{RULES} {datetime.now()}",
                    "messages": [{"role": "user", "content": q}],
                },
            }
            for i, q in enumerate(questions)
        ]
    )
""",
    ),
    program(
        "a_batch_with_uuids_as_ids_is_clean",
        "",
        """
import uuid

def submit(client, questions):
    return client.messages.batches.create(
        requests=[
            {
                "custom_id": str(uuid.uuid4()),
                "params": {
                    "model": "m",
                    "max_tokens": 9,
                    "system": RULES,
                    "messages": [{"role": "user", "content": q}],
                },
            }
            for q in questions
        ]
    )
""",
    ),
    program(
        "an_http_body",
        "CTX101",
        """
import httpx, time

async def ask(text):
    body = {
        "model": "m",
        "max_tokens": 9,
        "system": "Now: " + str(time.time()),
        "messages": [{"role": "user", "content": text}],
    }
    async with httpx.AsyncClient() as http:
        return await http.post(URL, json=body, headers=HEADERS)
""",
    ),
    program(
        "a_request_id_header_of_an_http_call_is_clean",
        "",
        """
import httpx, uuid

async def ask(text):
    body = {
        "model": "m",
        "max_tokens": 9,
        "system": RULES,
        "messages": [{"role": "user", "content": text}],
    }
    async with httpx.AsyncClient() as http:
        return await http.post(URL, json=body, headers={"x-request-id": str(uuid.uuid4())})
""",
    ),
    program(
        "a_dataclass_request",
        "CTX102",
        """
from dataclasses import dataclass, field, asdict
import uuid

@dataclass
class Req:
    model: str
    system: str
    messages: list
    max_tokens: int = 9

def ask(client, text):
    req = Req(
        model="m", system=f"Session {uuid.uuid4()}", messages=[{"role": "user", "content": text}]
    )
    return client.messages.create(**asdict(req))
""",
    ),
    program(
        "a_closure_with_a_clock",
        "CTX101",
        """
from datetime import datetime

def make(client):
    def system():
        return f"Now {datetime.now()}"

    def ask(text):
        return client.messages.create(
            model="m", system=system(), messages=[{"role": "user", "content": text}]
        )

    return ask
""",
    ),
    program(
        "an_argument_carries_the_clock",
        "CTX101",
        """
from datetime import datetime

def ask(client, system, text):
    return client.messages.create(
        model="m", system=system, messages=[{"role": "user", "content": text}]
    )

def main(client):
    while True:
        ask(client, f"Now {datetime.now()}", input())
""",
    ),
    program(
        "a_script_that_asks_once",
        "CTX101",
        """
import anthropic
from datetime import datetime

client = anthropic.Anthropic()
message = client.messages.create(
    model="m",
    max_tokens=9,
    system=f"Now {datetime.now()}",
    messages=[{"role": "user", "content": "hi"}],
)
print(message)
""",
    ),
    program(
        "a_script_that_asks_twice_with_one_clock_is_suspected",
        "",
        """
import anthropic
from datetime import datetime

client = anthropic.Anthropic()
system = f"Now {datetime.now()}"
one = client.messages.create(
    model="m", max_tokens=9, system=system, messages=[{"role": "user", "content": "hi"}]
)
two = client.messages.create(
    model="m", max_tokens=9, system=system, messages=[{"role": "user", "content": "ho"}]
)
""",
        "CTX101",
    ),
    program(
        "partial_of_the_call",
        "CTX101",
        """
from functools import partial
import time

def asker(client):
    return partial(client.messages.create, model="m", system=f"t={time.time()}")
""",
    ),
    program(
        "to_thread_of_the_call",
        "CTX102",
        """
import asyncio, secrets

async def ask(client, text):
    return await asyncio.to_thread(
        client.messages.create,
        model="m",
        system=f"nonce {secrets.token_hex(8)}",
        messages=[{"role": "user", "content": text}],
    )
""",
    ),
    program(
        "a_wrapper_of_another_module",
        "CTX101",
        """
from .llm import call_model
from datetime import datetime

def ask(history):
    return call_model(system=f"Now {datetime.now()}", messages=history, max_tokens=5)
""",
    ),
    program(
        "a_prompt_builder_without_a_call_is_suspected",
        "",
        """
from datetime import datetime

def get_system_prompt():
    return f"You are X. The time is {datetime.now():%H:%M:%S}."
""",
        "CTX101",
    ),
    program(
        "a_prompt_builder_with_the_clock_behind_its_marker_is_clean",
        "",
        """
from datetime import datetime

def build_system_blocks():
    return [
        {"type": "text", "text": RULES, "cache_control": {"type": "ephemeral"}},
        {"type": "text", "text": f"Now {datetime.now()}"},
    ]
""",
    ),
    program(
        "results_of_tools_with_clocks_are_clean",
        "",
        """
from datetime import datetime
import json

def run_tool(name, args):
    if name == "now":
        return {"now": datetime.now().isoformat()}
    return {}

def loop(client, messages):
    while True:
        r = client.messages.create(model="m", system=RULES, tools=TOOLS, messages=messages)
        messages.append({"role": "assistant", "content": r.content})
        results = []
        for block in r.content:
            if block.type == "tool_use":
                results.append(
                    {
                        "type": "tool_result",
                        "tool_use_id": block.id,
                        "content": json.dumps(run_tool(block.name, block.input)),
                    }
                )
        if not results:
            return r
        messages.append({"role": "user", "content": results})
""",
    ),
]

SHAPES = [
    program(
        "placeholders_replaced_in_a_loop",
        "CTX101",
        """
import datetime

class Agent:
    def _build_system(self, file, mapping):
        with open(file) as f:
            agent_system = f.read()
        replacements = {"{{time}}": datetime.datetime.now().strftime("%Y-%m-%d %H:%M:%S")}
        replacements.update(mapping)
        for placeholder, value in replacements.items():
            agent_system = agent_system.replace(placeholder, value)
        return agent_system

    def run(self, text):
        return self.client.messages.create(
            model="m",
            system=self._build_system("a.md", {}),
            messages=[{"role": "user", "content": text}],
        )
""",
    ),
    program(
        "markers_of_the_last_three_turns_with_removal",
        "",
        """
from typing import cast, Any

def inject(messages):
    left = 3
    for message in reversed(messages):
        if message["role"] == "user" and isinstance(content := message["content"], list):
            if left:
                left -= 1
                cast(dict[str, Any], content[-1])["cache_control"] = {"type": "ephemeral"}
            else:
                content[-1].pop("cache_control", None)
                break

async def loop(client, messages):
    while True:
        inject(messages)
        r = await client.beta.messages.create(
            model="m",
            system=[{"type": "text", "text": RULES, "cache_control": {"type": "ephemeral"}}],
            messages=messages,
            tools=TOOLS,
        )
        messages.append({"role": "assistant", "content": r.content})
        messages.append({"role": "user", "content": run(r)})
""",
    ),
    program(
        "markers_of_every_user_turn_without_removal",
        "CTX402",
        """
def inject(messages):
    message = messages[-1]
    message["content"][-1]["cache_control"] = {"type": "ephemeral"}

async def loop(client, messages):
    while True:
        inject(messages)
        r = await client.beta.messages.create(
            model="m", system=RULES, messages=messages, tools=TOOLS
        )
        messages.append({"role": "assistant", "content": r.content})
        messages.append({"role": "user", "content": run(r)})
""",
    ),
    program(
        "old_pictures_taken_out_each_turn",
        "CTX303",
        """
def keep_newest(messages, keep=3):
    for message in messages[:-keep]:
        message["content"] = [b for b in message["content"] if b["type"] != "image"]

def loop(client):
    messages = []
    while True:
        messages.append({"role": "user", "content": shot()})
        keep_newest(messages)
        r = client.messages.create(model="m", system=RULES, messages=messages)
        messages.append({"role": "assistant", "content": r.content})
""",
    ),
    program(
        "a_function_default_is_made_once",
        "",
        """
from datetime import datetime

def ask(client, text, now=datetime.now()):
    return client.messages.create(
        model="m", system=f"Now {now}", messages=[{"role": "user", "content": text}]
    )
""",
        "CTX101",
    ),
    program(
        "a_clock_from_another_module_is_suspected",
        "",
        """
from .clock import get_current_time

def ask(client, text):
    return client.messages.create(
        model="m", system=f"Now {get_current_time()}", messages=[{"role": "user", "content": text}]
    )
""",
        "CTX101",
    ),
    program(
        "pendulum_and_arrow",
        "CTX101",
        """
import pendulum

def ask(client, text):
    return client.messages.create(
        model="m",
        system="Now " + pendulum.now("UTC").to_datetime_string(),
        messages=[{"role": "user", "content": text}],
    )
""",
    ),
    program(
        "pendulum_date",
        "",
        """
import pendulum

def ask(client, text):
    return client.messages.create(
        model="m",
        system="Now " + pendulum.now("UTC").format("YYYY-MM-DD"),
        messages=[{"role": "user", "content": text}],
    )
""",
        "CTX101",
    ),
    program(
        "midnight_is_a_date",
        "",
        """
from datetime import datetime

def ask(client, text):
    day = datetime.now().replace(hour=0, minute=0, second=0, microsecond=0)
    return client.messages.create(
        model="m", system=f"Day {day}", messages=[{"role": "user", "content": text}]
    )
""",
        "CTX101",
    ),
    program(
        "to_the_minute_is_confirmed",
        "CTX101",
        """
from datetime import datetime

def ask(client, text):
    now = datetime.now().replace(second=0, microsecond=0)
    return client.messages.create(
        model="m", system=f"Now {now}", messages=[{"role": "user", "content": text}]
    )
""",
    ),
    program(
        "the_hour_is_suspected",
        "",
        """
from datetime import datetime

def ask(client, text):
    return client.messages.create(
        model="m",
        system=f"Hour {datetime.now().hour}",
        messages=[{"role": "user", "content": text}],
    )
""",
        "CTX101",
    ),
    program(
        "a_greeting_by_the_hour_is_not_confirmed",
        "",
        """
from datetime import datetime

def ask(client, text):
    greeting = "Good morning" if datetime.now().hour < 12 else "Good evening"
    return client.messages.create(
        model="m", system=f"{greeting}. Be kind.", messages=[{"role": "user", "content": text}]
    )
""",
    ),
    program(
        "elapsed_time_in_system",
        "CTX101",
        """
import time

class A:
    def __init__(self, client):
        self.client = client
        self.started = time.time()
        self.messages = []

    def run(self, text):
        self.messages.append({"role": "user", "content": text})
        return self.client.messages.create(
            model="m", system=f"Elapsed: {time.time() - self.started:.0f}s", messages=self.messages
        )
""",
    ),
    program(
        "a_join_of_parts_appended_one_by_one",
        "CTX101",
        """
from datetime import datetime, timezone
import textwrap

class Prompt:
    def __init__(self, persona):
        self.persona = persona

    def render(self):
        parts = [self.persona]
        parts.append("## Environment")
        parts.append(f"- time: {datetime.now(timezone.utc).isoformat(timespec='seconds')}")
        return textwrap.dedent("\\n".join(parts))

class Agent:
    def __init__(self, client, persona):
        self.client = client
        self.prompt = Prompt(persona)
        self.messages = []

    async def step(self, text):
        self.messages.append({"role": "user", "content": text})
        return await self.client.messages.create(
            model="m", system=self.prompt.render(), messages=self.messages
        )
""",
    ),
    program(
        "a_context_dict_formatted",
        "CTX102",
        """
import uuid

TEMPLATE = "You are {name}. Trace {trace_id}."

def context(name):
    return {"name": name, "trace_id": uuid.uuid4().hex[:8]}

def ask(client, text):
    return client.messages.create(
        model="m",
        system=TEMPLATE.format(**context("Bo")),
        messages=[{"role": "user", "content": text}],
    )
""",
    ),
    program(
        "a_context_dict_whose_uuid_is_not_shown",
        "",
        """
import uuid

TEMPLATE = "You are {name}."

def context(name):
    return {"name": name, "trace_id": uuid.uuid4().hex[:8]}

def ask(client, text):
    return client.messages.create(
        model="m",
        system=TEMPLATE.format(**context("Bo")),
        messages=[{"role": "user", "content": text}],
    )
""",
    ),
    program(
        "tuple_unpacked_system_and_log_id",
        "",
        """
import uuid

def prepare():
    return "You are kind.", str(uuid.uuid4())

def ask(client, text):
    system, log_id = prepare()
    print(log_id)
    return client.messages.create(
        model="m", system=system, messages=[{"role": "user", "content": text}]
    )
""",
    ),
    program(
        "tuple_unpacked_the_other_way",
        "CTX102",
        """
import uuid

def prepare():
    return str(uuid.uuid4()), "You are kind."

def ask(client, text):
    system, note = prepare()
    return client.messages.create(
        model="m", system=system, messages=[{"role": "user", "content": text}]
    )
""",
    ),
    program(
        "openai_style_client",
        "CTX101",
        """
from datetime import datetime

def ask(client, history):
    messages = [
        {"role": "system", "content": "You are X. Now: " + datetime.now().strftime("%H:%M:%S")}
    ]
    messages.extend(history)
    return client.chat.completions.create(model="m", messages=messages)
""",
    ),
    program(
        "langchain_messages",
        "CTX101",
        """
from datetime import datetime
from langchain_anthropic import ChatAnthropic
from langchain_core.messages import SystemMessage, HumanMessage

llm = ChatAnthropic(model="claude")

def ask(history, text):
    return llm.invoke(
        [SystemMessage(content=f"Now {datetime.now()}"), *history, HumanMessage(content=text)]
    )
""",
    ),
    program(
        "sdk_param_classes",
        "CTX101",
        """
from anthropic.types import TextBlockParam, MessageParam
from datetime import datetime

def ask(client, text):
    system = [
        TextBlockParam(type="text", text=f"Now {datetime.now()}"),
        TextBlockParam(type="text", text=RULES, cache_control={"type": "ephemeral"}),
    ]
    return client.messages.create(
        model="m", system=system, messages=[MessageParam(role="user", content=text)]
    )
""",
    ),
    program(
        "sdk_param_classes_behind_the_marker",
        "",
        """
from anthropic.types import TextBlockParam, MessageParam
from datetime import datetime

def ask(client, text):
    system = [
        TextBlockParam(type="text", text=RULES, cache_control={"type": "ephemeral"}),
        TextBlockParam(type="text", text=f"Now {datetime.now()}"),
    ]
    return client.messages.create(
        model="m", system=system, messages=[MessageParam(role="user", content=text)]
    )
""",
    ),
    program(
        "marker_on_the_last_tool_clock_in_system",
        "",
        """
from datetime import datetime

def ask(client, text):
    tools = [SEARCH, {**READ, "cache_control": {"type": "ephemeral"}}]
    return client.messages.create(
        model="m",
        tools=tools,
        system=f"Now {datetime.now()}",
        messages=[{"role": "user", "content": text}],
    )
""",
    ),
    program(
        "marker_set_on_the_last_tool_by_index",
        "",
        """
from datetime import datetime

def tools():
    found = [{"name": "a", "input_schema": {}}, {"name": "b", "input_schema": {}}]
    found[-1]["cache_control"] = {"type": "ephemeral"}
    return found

def ask(client, text):
    return client.messages.create(
        model="m",
        tools=tools(),
        system=f"Now {datetime.now()}",
        messages=[{"role": "user", "content": text}],
    )
""",
    ),
    program(
        "a_reminder_in_the_newest_message_of_a_tool_loop",
        "",
        """
from datetime import datetime

def loop(client, task):
    messages = [{"role": "user", "content": task}]
    while True:
        r = client.messages.create(model="m", system=RULES, tools=TOOLS, messages=messages)
        messages.append({"role": "assistant", "content": r.content})
        if r.stop_reason != "tool_use":
            return r
        results = run_tools(r)
        results.append(
            {"type": "text", "text": f"<reminder>time {datetime.now():%H:%M:%S}</reminder>"}
        )
        messages.append({"role": "user", "content": results})
""",
    ),
    program(
        "a_reminder_on_a_copy_of_the_newest_message",
        "",
        """
import copy
from datetime import datetime

def loop(client, messages):
    while True:
        sent = copy.deepcopy(messages)
        sent[-1]["content"] += f"\\n(now {datetime.now()})"
        r = client.messages.create(
            model="m",
            system=[{"type": "text", "text": RULES, "cache_control": {"type": "ephemeral"}}],
            messages=sent,
        )
        messages.append({"role": "assistant", "content": r.content})
        messages.append({"role": "user", "content": input()})
""",
    ),
    program(
        "mcp_tools_from_a_dict_of_servers_is_clean",
        "",
        """
class Host:
    def __init__(self):
        self.sessions = {}

    async def tools(self):
        found = []
        for name, session in self.sessions.items():
            listed = await session.list_tools()
            for tool in listed.tools:
                found.append(
                    {
                        "name": f"{name}_{tool.name}",
                        "description": tool.description,
                        "input_schema": tool.inputSchema,
                    }
                )
        return found

    async def ask(self, client, text):
        return await client.messages.create(
            model="m", tools=await self.tools(), messages=[{"role": "user", "content": text}]
        )
""",
    ),
    program(
        "tools_of_a_set_of_enabled_names",
        "CTX203",
        """
REGISTRY = {"a": {}, "b": {}}

class Host:
    def __init__(self, client):
        self.client = client
        self.enabled = {"a", "b"}

    def tools(self):
        return [REGISTRY[name] for name in self.enabled]

    def ask(self, text):
        return self.client.messages.create(
            model="m", tools=self.tools(), messages=[{"role": "user", "content": text}]
        )
""",
    ),
    program(
        "tools_of_the_registry_filtered_by_a_set_is_clean",
        "",
        """
REGISTRY = {"a": {}, "b": {}}

class Host:
    def __init__(self, client):
        self.client = client
        self.enabled = {"a", "b"}

    def tools(self):
        return [spec for name, spec in REGISTRY.items() if name in self.enabled]

    def ask(self, text):
        return self.client.messages.create(
            model="m", tools=self.tools(), messages=[{"role": "user", "content": text}]
        )
""",
    ),
    program(
        "unique_names_kept_in_order_by_dict_is_clean",
        "",
        """
def ask(client, text, names):
    unique = list(dict.fromkeys(names))
    return client.messages.create(
        model="m",
        system="Names: " + ", ".join(unique),
        messages=[{"role": "user", "content": text}],
    )
""",
    ),
    program(
        "unique_names_by_list_of_set",
        "CTX202",
        """
def ask(client, text, names):
    unique = list(set(names))
    return client.messages.create(
        model="m",
        system="Names: " + ", ".join(unique),
        messages=[{"role": "user", "content": text}],
    )
""",
    ),
    program(
        "a_set_difference_joined",
        "CTX202",
        """
ALL = {"a", "b", "c"}

def ask(client, text, used):
    return client.messages.create(
        model="m",
        system="Left: " + ", ".join(ALL - set(used)),
        messages=[{"role": "user", "content": text}],
    )
""",
    ),
    program(
        "a_set_printed_as_is",
        "CTX202",
        """
TOPICS = frozenset(["x", "y", "z"])

def ask(client, text):
    return client.messages.create(
        model="m", system=f"Topics: {TOPICS}", messages=[{"role": "user", "content": text}]
    )
""",
    ),
    program(
        "the_size_of_a_set_is_clean",
        "",
        """
TOPICS = frozenset(["x", "y", "z"])

def ask(client, text):
    return client.messages.create(
        model="m",
        system=f"{len(TOPICS)} topics; first {min(TOPICS)}",
        messages=[{"role": "user", "content": text}],
    )
""",
    ),
    program(
        "a_set_of_one_is_clean",
        "",
        """
TOPICS = {"x"}

def ask(client, text):
    return client.messages.create(
        model="m",
        system=f"Topics: {', '.join(TOPICS)}",
        messages=[{"role": "user", "content": text}],
    )
""",
    ),
    program(
        "a_model_by_length_of_history",
        "CTX301",
        """
class Router:
    def __init__(self, client):
        self.client = client
        self.history = []

    def send(self, text):
        self.history.append({"role": "user", "content": text})
        model = "claude-haiku-5" if len(self.history) < 6 else "claude-opus-5"
        r = self.client.messages.create(model=model, system=RULES, messages=self.history)
        self.history.append({"role": "assistant", "content": r.content})
        return r
""",
    ),
    program(
        "a_model_from_settings_is_clean",
        "",
        """
class Router:
    def __init__(self, client, settings):
        self.client = client
        self.model = settings.model or "claude-opus-5"
        self.history = []

    def send(self, text):
        self.history.append({"role": "user", "content": text})
        return self.client.messages.create(model=self.model, system=RULES, messages=self.history)
""",
    ),
    program(
        "a_model_escalated_inside_the_loop",
        "CTX301",
        """
def solve(client, task):
    model = "claude-haiku-5"
    messages = [{"role": "user", "content": task}]
    for step in range(10):
        r = client.messages.create(model=model, system=RULES, messages=messages)
        messages.append({"role": "assistant", "content": r.content})
        if step > 3:
            model = "claude-opus-5"
        messages.append({"role": "user", "content": "go on"})
""",
    ),
    program(
        "sub_agents_have_their_own_model",
        "",
        """
MODELS = {"plan": "claude-opus-5", "write": "claude-haiku-5"}

def run_agent(client, kind, task):
    messages = [{"role": "user", "content": task}]
    while True:
        r = client.messages.create(model=MODELS[kind], system=PROMPTS[kind], messages=messages)
        messages.append({"role": "assistant", "content": r.content})
        if done(r):
            return r
        messages.append({"role": "user", "content": run_tools(r)})
""",
    ),
    program(
        "system_by_mode_inside_the_loop",
        "CTX302",
        """
def main(client):
    messages = []
    mode = "plan"
    while True:
        text = input()
        if text == "/act":
            mode = "act"
            continue
        messages.append({"role": "user", "content": text})
        system = PLAN_PROMPT if mode == "plan" else ACT_PROMPT
        r = client.messages.create(model="m", system=system, messages=messages)
        messages.append({"role": "assistant", "content": r.content})
""",
    ),
    program(
        "todo_list_of_the_agent_in_system",
        "CTX302",
        """
class Agent:
    def __init__(self, client):
        self.client = client
        self.messages = []
        self.todos = []

    def step(self, text):
        self.messages.append({"role": "user", "content": text})
        todo = "\\n".join(self.todos)
        r = self.client.messages.create(
            model="m", system=f"{RULES}\\n{todo}", messages=self.messages
        )
        self.messages.append({"role": "assistant", "content": r.content})
        self.todos.append(r.content[0].text)
""",
    ),
    program(
        "todo_list_in_the_newest_message_is_clean",
        "",
        """
class Agent:
    def __init__(self, client):
        self.client = client
        self.messages = []
        self.todos = []

    def step(self, text):
        todo = "\\n".join(self.todos)
        self.messages.append({"role": "user", "content": f"{text}\\n{todo}"})
        r = self.client.messages.create(model="m", system=RULES, messages=self.messages)
        self.messages.append({"role": "assistant", "content": r.content})
        self.todos.append(r.content[0].text)
""",
    ),
    program(
        "counting_tokens_of_the_same_request",
        "CTX101",
        """
from datetime import datetime

def request(text):
    return {
        "model": "m",
        "system": f"Now {datetime.now()}",
        "messages": [{"role": "user", "content": text}],
    }

def ask(client, text):
    body = request(text)
    n = client.messages.count_tokens(**body)
    return client.messages.create(max_tokens=99, **body)
""",
    ),
    program(
        "history_compacted_into_a_summary_is_not_confirmed",
        "",
        """
def main(client):
    messages = []
    while True:
        messages.append({"role": "user", "content": input()})
        if count(client, messages) > 100_000:
            summary = summarise(client, messages)
            messages = [{"role": "user", "content": summary}]
        r = client.messages.create(model="m", system=RULES, messages=messages)
        messages.append({"role": "assistant", "content": r.content})
""",
    ),
    program(
        "history_filtered_each_call",
        "",
        """
def ask(client, history, text):
    kept = [m for m in history if m["role"] in ("user", "assistant")]
    return client.messages.create(
        model="m", system=RULES, messages=[*kept, {"role": "user", "content": text}]
    )
""",
    ),
    program(
        "system_split_off_the_front_is_clean",
        "",
        """
def ask(client, messages):
    system = messages[0]["content"]
    return client.messages.create(model="m", system=system, messages=messages[1:])
""",
    ),
    program(
        "del_of_the_two_oldest",
        "CTX303",
        """
class C:
    def __init__(self, client):
        self.client = client
        self.history = []

    def say(self, text):
        self.history.append({"role": "user", "content": text})
        if len(self.history) > 40:
            del self.history[:2]
        r = self.client.messages.create(model="m", system=RULES, messages=self.history)
        self.history.append({"role": "assistant", "content": r.content})
""",
    ),
    program(
        "session_reset_is_clean",
        "",
        """
class C:
    def __init__(self, client):
        self.client = client
        self.history = []

    def reset(self):
        self.history = []

    def clear(self):
        self.history.clear()

    def say(self, text):
        self.history.append({"role": "user", "content": text})
        r = self.client.messages.create(model="m", system=RULES, messages=self.history)
        self.history.append({"role": "assistant", "content": r.content})
""",
    ),
    program(
        "typed_dict_request",
        "CTX105",
        """
from typing import TypedDict
import os

class Req(TypedDict):
    model: str
    system: str
    messages: list

def build(text) -> Req:
    return Req(model="m", system=f"pid {os.getpid()}", messages=[{"role": "user", "content": text}])

def send(client, text):
    return client.messages.create(max_tokens=9, **build(text))
""",
    ),
    program(
        "memory_facts_sorted_and_dumped_is_clean",
        "",
        """
import json

class M:
    def __init__(self, client):
        self.client = client
        self.facts = {}

    def ask(self, text):
        return self.client.messages.create(
            model="m",
            system="Facts: " + json.dumps(dict(sorted(self.facts.items()))),
            messages=[{"role": "user", "content": text}],
        )
""",
    ),
    program(
        "static_system_from_a_file_is_clean",
        "",
        """
from pathlib import Path

PROMPT = (Path(__file__).parent / "prompt.md").read_text()

def ask(client, text):
    return client.messages.create(
        model="m", system=PROMPT, messages=[{"role": "user", "content": text}]
    )
""",
    ),
    program(
        "a_session_id_in_metadata_and_log_is_clean",
        "",
        """
import uuid, logging

class S:
    def __init__(self, client):
        self.client = client
        self.session_id = str(uuid.uuid4())
        self.messages = []

    def say(self, text):
        logging.info("session %s", self.session_id)
        self.messages.append({"role": "user", "content": text})
        return self.client.messages.create(
            model="m",
            system=RULES,
            messages=self.messages,
            metadata={"user_id": self.session_id},
            extra_headers={"x-session": self.session_id},
        )
""",
    ),
    program(
        "request_id_in_system",
        "CTX104",
        """
def ask(client, request_id, text):
    return client.messages.create(
        model="m", system=f"Request {request_id}", messages=[{"role": "user", "content": text}]
    )
""",
    ),
    program(
        "weekday_name_is_suspected",
        "",
        """
import calendar, datetime

def ask(client, text):
    day = datetime.date.today().strftime("%A")
    return client.messages.create(
        model="m", system=f"It is {day}", messages=[{"role": "user", "content": text}]
    )
""",
        "CTX101",
    ),
    program(
        "async_gather_over_questions_with_a_clock_inside",
        "CTX101",
        """
import asyncio
from datetime import datetime

async def one(client, q):
    return await client.messages.create(
        model="m", system=f"Now {datetime.now()}", messages=[{"role": "user", "content": q}]
    )

async def main(client, qs):
    return await asyncio.gather(*(one(client, q) for q in qs))
""",
    ),
    program(
        "prefix_shared_by_questions_is_clean",
        "",
        """
import asyncio

async def one(client, q, system):
    return await client.messages.create(
        model="m", system=system, messages=[{"role": "user", "content": q}]
    )

async def main(client, qs):
    system = [{"type": "text", "text": RULES, "cache_control": {"type": "ephemeral"}}]
    return await asyncio.gather(*(one(client, q, system) for q in qs))
""",
    ),
    program(
        "a_nonlocal_counter_in_system",
        "CTX302",
        """
COUNT = 0
history = []

def ask(client, text):
    global COUNT
    COUNT += 1
    history.append({"role": "user", "content": text})
    return client.messages.create(model="m", system=f"Message number {COUNT}", messages=history)
""",
    ),
    program(
        "an_f_string_debug_flag_off",
        "",
        """
from datetime import datetime

STAMP = False

def system():
    text = "You are kind."
    if STAMP:
        text += f" {datetime.now()}"
    return text

def ask(client, text):
    return client.messages.create(
        model="m", system=system(), messages=[{"role": "user", "content": text}]
    )
""",
    ),
    program(
        "in_tool_result_content_is_clean",
        "",
        """
from datetime import datetime

def finish(client, messages, use):
    messages.append(
        {
            "role": "user",
            "content": [
                {
                    "type": "tool_result",
                    "tool_use_id": use.id,
                    "content": datetime.now().isoformat(),
                }
            ],
        }
    )
    return client.messages.create(model="m", system=RULES, tools=TOOLS, messages=messages)
""",
    ),
    program(
        "stop_sequences_and_temperature_are_clean",
        "",
        """
import uuid, random

def ask(client, text):
    end = f"END-{uuid.uuid4()}"
    return client.messages.create(
        model="m",
        system=RULES,
        stop_sequences=[end],
        temperature=random.random(),
        messages=[{"role": "user", "content": text}],
    )
""",
    ),
]

CORNERS = [
    program(
        "a_lambda_in_an_executor",
        "CTX101",
        """
import asyncio
from datetime import datetime

class C:
    async def ask(self, text):
        loop = asyncio.get_running_loop()
        system = f"Now {datetime.now()}"
        return await asyncio.wait_for(
            loop.run_in_executor(
                None,
                lambda: self.client.messages.create(
                    model="m", system=system, messages=[{"role": "user", "content": text}]
                ),
            ),
            timeout=9,
        )
""",
    ),
    program(
        "a_config_from_elsewhere_with_system_set",
        "CTX101",
        """
from datetime import datetime

class C:
    def ask(self, message_list, config):
        system_prompt = config.get("system", "")
        config["system"] = (system_prompt + f"\\n{datetime.now()}").strip()
        return self.client.messages.create(messages=message_list, **config)
""",
    ),
    program(
        "a_given_random_is_no_module",
        "",
        """
def ask(client, text, random):
    return client.messages.create(
        model="m", system=f"n {random.choice([1, 2])}", messages=[{"role": "user", "content": text}]
    )
""",
    ),
    program(
        "each_tool_marked",
        "",
        """
def ask(client, text, tools):
    marked = [{**t, "cache_control": {"type": "ephemeral"}} for t in tools]
    return client.messages.create(
        model="m", tools=marked, messages=[{"role": "user", "content": text}]
    )
""",
        "CTX406",
    ),
    program(
        "the_last_tool_marked",
        "",
        """
def ask(client, text, tools):
    marked = [*tools[:-1], {**tools[-1], "cache_control": {"type": "ephemeral"}}]
    return client.messages.create(
        model="m", tools=marked, messages=[{"role": "user", "content": text}]
    )
""",
    ),
    program(
        "the_last_tool_marked_by_index_in_a_comprehension",
        "",
        """
def ask(client, text, tools):
    marked = [
        {**t, "cache_control": {"type": "ephemeral"}} if i == len(tools) - 1 else t
        for i, t in enumerate(tools)
    ]
    return client.messages.create(
        model="m", tools=marked, messages=[{"role": "user", "content": text}]
    )
""",
    ),
    program(
        "inherited_system_method",
        "CTX101",
        """
from abc import ABC
from datetime import datetime

class Base(ABC):
    def __init__(self, client):
        self.client = client
        self.messages = []

    def system_prompt(self):
        raise NotImplementedError

    def run(self, text):
        self.messages.append({"role": "user", "content": text})
        return self.client.messages.create(
            model="m", system=self.system_prompt(), messages=self.messages
        )

class Clocked(Base):
    def system_prompt(self):
        return f"Now {datetime.now()}"
""",
    ),
    program(
        "super_adds_a_clock",
        "CTX101",
        """
from datetime import datetime

class Base:
    def system(self):
        return "Base"

class Clocked(Base):
    def system(self):
        return super().system() + f" Now {datetime.now()}"

    def run(self, client, text):
        return client.messages.create(
            model="m", system=self.system(), messages=[{"role": "user", "content": text}]
        )
""",
    ),
    program(
        "a_class_constant_set_joined",
        "CTX202",
        """
class A:
    TOPICS = {"a", "b", "c"}

    def system(self):
        return "Topics: " + ", ".join(self.TOPICS)

    def run(self, client, text):
        return client.messages.create(
            model="m", system=self.system(), messages=[{"role": "user", "content": text}]
        )
""",
    ),
    program(
        "a_module_set_read_in_a_quiet_helper",
        "CTX202",
        """
ALLOWED = {"a", "b"}

def names():
    return ", ".join(ALLOWED)

def more():
    return "Allowed: " + names()

def run(client, text):
    return client.messages.create(
        model="m", system=more(), messages=[{"role": "user", "content": text}]
    )
""",
    ),
    program(
        "chained_replaces",
        "CTX102",
        """
import uuid

P = "Run {RUN} by {NAME}"

def run(client, text):
    system = P.replace("{NAME}", "Bo").replace("{RUN}", str(uuid.uuid4()))
    return client.messages.create(
        model="m", system=system, messages=[{"role": "user", "content": text}]
    )
""",
    ),
    program(
        "a_with_statement_and_a_walrus",
        "CTX101",
        """
from datetime import datetime

def run(client, text):
    if (now := datetime.now()) and text:
        with client.messages.stream(
            model="m", system=f"Now {now}", messages=[{"role": "user", "content": text}]
        ) as s:
            return s.get_final_text()
""",
    ),
    program(
        "a_match_statement",
        "CTX101",
        """
from datetime import datetime

def system(kind):
    match kind:
        case "clock":
            return f"Now {datetime.now()}"
        case _:
            return "Plain"

def run(client, kind, text):
    return client.messages.create(
        model="m", system=system(kind), messages=[{"role": "user", "content": text}]
    )
""",
    ),
    program(
        "yielded_parts_joined",
        "CTX101",
        """
from datetime import datetime

def parts():
    yield "You are kind."
    yield f"Now {datetime.now()}"

def run(client, text):
    return client.messages.create(
        model="m", system="\\n".join(parts()), messages=[{"role": "user", "content": text}]
    )
""",
    ),
    program(
        "a_staticmethod_and_a_classmethod",
        "CTX102",
        """
import secrets

class B:
    PREFIX = "You are"

    @staticmethod
    def nonce():
        return secrets.token_urlsafe(4)

    @classmethod
    def system(cls):
        return f"{cls.PREFIX} {cls.nonce()}"

    def run(self, client, text):
        return client.messages.create(
            model="m", system=B.system(), messages=[{"role": "user", "content": text}]
        )
""",
    ),
    program(
        "a_messages_builder_class",
        "CTX101",
        """
import time

class History:
    def __init__(self):
        self.items = []

    def add(self, role, content):
        self.items.append({"role": role, "content": content})

    def render(self):
        return [
            {"role": "user", "content": f"Session clock {time.time()}"},
            {"role": "assistant", "content": "ok"},
        ] + self.items

class Bot:
    def __init__(self, client):
        self.client = client
        self.history = History()

    def say(self, text):
        self.history.add("user", text)
        return self.client.messages.create(model="m", system="S", messages=self.history.render())
""",
    ),
    program(
        "a_class_that_keeps_stamps_in_its_items_is_clean",
        "",
        """
import time

class History:
    def __init__(self):
        self.items = []

    def add(self, role, content):
        self.items.append({"role": role, "content": f"{time.time()} {content}"})

    def render(self):
        return list(self.items)

class Bot:
    def __init__(self, client):
        self.client = client
        self.history = History()

    def say(self, text):
        self.history.add("user", text)
        return self.client.messages.create(model="m", system="S", messages=self.history.render())
""",
    ),
    program(
        "stored_stamps_beside_messages_are_clean",
        "",
        """
from datetime import datetime

class Bot:
    def __init__(self, client):
        self.client = client
        self.log = []

    def say(self, text):
        self.log.append({"role": "user", "content": text, "at": datetime.now().isoformat()})
        messages = [{"role": m["role"], "content": m["content"]} for m in self.log]
        return self.client.messages.create(model="m", system="S", messages=messages)
""",
    ),
    program(
        "a_usage_log_row_with_a_clock_is_clean",
        "",
        """
from datetime import datetime

def run(client, text, rows):
    r = client.messages.create(model="m", system="S", messages=[{"role": "user", "content": text}])
    rows.append({"model": "m", "system": "S", "at": datetime.now(), "tokens": r.usage.input_tokens})
    return r
""",
    ),
    program(
        "fastapi_handler_with_user_in_system",
        "CTX104",
        """
from fastapi import Depends

def chat(body, current_user=Depends(get_user)):
    return client.messages.create(
        model="m", system=f"The user is {current_user.email}", messages=body.messages
    )
""",
    ),
    program(
        "tenant_tools",
        "CTX104",
        """
def build_tools(tenant_id):
    return [
        {
            "name": "query",
            "description": f"Query the database of tenant {tenant_id}",
            "input_schema": {},
        }
    ]

def chat(client, tenant_id, text):
    return client.messages.create(
        model="m", tools=build_tools(tenant_id), messages=[{"role": "user", "content": text}]
    )
""",
    ),
    program(
        "user_in_a_block_behind_the_marker_is_clean",
        "",
        """
def chat(client, user, text):
    system = [
        {"type": "text", "text": RULES, "cache_control": {"type": "ephemeral"}},
        {"type": "text", "text": f"User: {user.name}"},
    ]
    return client.messages.create(
        model="m", tools=TOOLS, system=system, messages=[{"role": "user", "content": text}]
    )
""",
    ),
    program(
        "admin_tools_by_role",
        "",
        """
def chat(client, user, text):
    tools = [SEARCH, READ]
    if user.is_admin:
        tools.append(DELETE)
    return client.messages.create(
        model="m", tools=tools, messages=[{"role": "user", "content": text}]
    )
""",
        "CTX104",
    ),
    program(
        "user_agent_header_is_clean",
        "",
        """
def chat(client, user_agent, text):
    return client.messages.create(
        model="m",
        system=RULES,
        extra_headers={"user-agent": user_agent},
        messages=[{"role": "user", "content": text}],
    )
""",
    ),
    program(
        "a_login_fires_and_a_host_name_is_suspected",
        "CTX104",
        """
import socket, getpass, os

def chat(client, text):
    return client.messages.create(
        model="m",
        system=f"{getpass.getuser()}@{socket.gethostname()} in {os.environ.get('HOME')}",
        messages=[{"role": "user", "content": text}],
    )
""",
        "CTX105",
    ),
    program(
        "numpy_random",
        "CTX102",
        """
import numpy as np

def chat(client, text):
    return client.messages.create(
        model="m",
        system=f"seed {np.random.randint(9)}",
        messages=[{"role": "user", "content": text}],
    )
""",
    ),
    program(
        "numpy_generator_with_a_seed_is_clean",
        "",
        """
import numpy as np

def chat(client, text):
    rng = np.random.default_rng(3)
    return client.messages.create(
        model="m", system=f"seed {rng.integers(9)}", messages=[{"role": "user", "content": text}]
    )
""",
    ),
    program(
        "temperature_by_random_is_clean",
        "",
        """
import random

def chat(client, text):
    return client.messages.create(
        model="m",
        system="S",
        temperature=random.uniform(0, 1),
        messages=[{"role": "user", "content": text}],
    )
""",
    ),
    program(
        "retry_jitter_is_clean",
        "",
        """
import random, time

def chat(client, text):
    for attempt in range(5):
        try:
            return client.messages.create(
                model="m", system="S", messages=[{"role": "user", "content": text}]
            )
        except Exception:
            time.sleep(2**attempt + random.random())
""",
    ),
    program(
        "set_of_ints_is_clean",
        "",
        """
PORTS = {80, 443}

def chat(client, text):
    return client.messages.create(
        model="m", system=f"Ports {PORTS}", messages=[{"role": "user", "content": text}]
    )
""",
    ),
    program(
        "dict_of_literals_iterated_is_clean",
        "",
        """
D = {"a": 1, "b": 2}

def chat(client, text):
    return client.messages.create(
        model="m",
        system="\\n".join(f"{k}: {v}" for k, v in D.items()),
        messages=[{"role": "user", "content": text}],
    )
""",
    ),
    program(
        "dict_from_set_iterated",
        "CTX202",
        """
def chat(client, text, names):
    table = {n: n.upper() for n in set(names)}
    return client.messages.create(
        model="m",
        system="\\n".join(f"{k}: {v}" for k, v in table.items()),
        messages=[{"role": "user", "content": text}],
    )
""",
    ),
    program(
        "dict_from_set_iterated_sorted_is_clean",
        "",
        """
def chat(client, text, names):
    table = {n: n.upper() for n in set(names)}
    return client.messages.create(
        model="m",
        system="\\n".join(f"{k}: {v}" for k, v in sorted(table.items())),
        messages=[{"role": "user", "content": text}],
    )
""",
    ),
    program(
        "set_only_to_count_seen_is_clean",
        "",
        """
def chat(client, text, docs):
    seen = set()
    parts = []
    for d in docs:
        if d.id in seen:
            continue
        seen.add(d.id)
        parts.append(d.text)
    return client.messages.create(
        model="m", system="\\n".join(parts), messages=[{"role": "user", "content": text}]
    )
""",
    ),
    program(
        "vars_and_orjson",
        "",
        """
import orjson

def chat(client, text, **extra):
    return client.messages.create(
        model="m", system=orjson.dumps(extra).decode(), messages=[{"role": "user", "content": text}]
    )
""",
        "CTX201",
    ),
    program(
        "orjson_sorted_is_clean",
        "",
        """
import orjson

def chat(client, text, **extra):
    return client.messages.create(
        model="m",
        system=orjson.dumps(extra, option=orjson.OPT_SORT_KEYS).decode(),
        messages=[{"role": "user", "content": text}],
    )
""",
    ),
    program(
        "merged_dicts_are_suspected",
        "",
        """
import json

def chat(client, text, defaults, overrides):
    return client.messages.create(
        model="m",
        system=json.dumps({**defaults, **overrides}),
        messages=[{"role": "user", "content": text}],
    )
""",
        "CTX201",
    ),
    program(
        "tool_input_json_in_the_newest_result_is_clean",
        "",
        """
import json

def chat(client, messages, use, result):
    messages.append(
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": use.id, "content": json.dumps(result)}
            ],
        }
    )
    return client.messages.create(model="m", system="S", messages=messages)
""",
    ),
    program(
        "as_completed_results_in_messages_are_clean",
        "",
        """
from concurrent.futures import as_completed

def chat(client, messages, pool, uses):
    futures = {pool.submit(run, u): u for u in uses}
    results = [
        {"type": "tool_result", "tool_use_id": futures[f].id, "content": f.result()}
        for f in as_completed(futures)
    ]
    messages.append({"role": "user", "content": results})
    return client.messages.create(model="m", system="S", messages=messages)
""",
    ),
    program(
        "a_speed_switch_mid_session",
        "",
        """
def main(client):
    messages = []
    n = 0
    while True:
        n += 1
        messages.append({"role": "user", "content": input()})
        choice = {"type": "any"} if n == 1 else {"type": "auto"}
        r = client.messages.create(
            model="m", system="S", tools=T, tool_choice=choice, messages=messages
        )
        messages.append({"role": "assistant", "content": r.content})
""",
        "CTX307",
    ),
]

TWINS = [
    program(
        "system_replaced_by_a_command_of_the_user",
        "CTX302",
        """
def run(client, turns):
    system = "You are kind."
    messages = []
    for turn in turns:
        if turn.startswith("/mode"):
            system = f"Mode: {turn}"
            continue
        messages.append({"role": "user", "content": turn})
        r = client.messages.create(model="m", system=system, messages=messages)
        messages.append({"role": "assistant", "content": r.content})
""",
    ),
    program(
        "a_system_block_rewritten_each_turn",
        "CTX302 CTX401",
        """
def run(client, turns):
    system = [{"type": "text", "text": "You are kind.", "cache_control": {"type": "ephemeral"}}]
    messages = []
    for turn in turns:
        system[0]["text"] = f"You are kind. Topic: {turn}"
        messages.append({"role": "user", "content": turn})
        r = client.messages.create(model="m", system=system, messages=messages)
        messages.append({"role": "assistant", "content": r.content})
""",
    ),
    program(
        "a_system_block_appended_behind_the_marker_each_turn_is_clean",
        "",
        """
def run(client, turns):
    base = [{"type": "text", "text": "You are kind.", "cache_control": {"type": "ephemeral"}}]
    messages = []
    for turn in turns:
        messages.append({"role": "user", "content": turn})
        r = client.messages.create(
            model="m", system=base + [{"type": "text", "text": f"Topic: {turn}"}], messages=messages
        )
        messages.append({"role": "assistant", "content": r.content})
""",
    ),
    program(
        "older_messages_cut_by_their_index",
        "CTX303",
        """
def run(client):
    messages = []
    while True:
        messages.append({"role": "user", "content": input()})
        for i in range(len(messages) - 3):
            messages[i]["content"] = "[cut]"
        r = client.messages.create(model="m", system="S", messages=messages)
        messages.append({"role": "assistant", "content": r.content})
""",
    ),
    program(
        "older_messages_cut_by_enumerate",
        "CTX303",
        """
def run(client):
    messages = []
    while True:
        messages.append({"role": "user", "content": input()})
        for i, m in enumerate(messages[:-2]):
            m["content"] = f"[cut {i}]"
        r = client.messages.create(model="m", system="S", messages=messages)
        messages.append({"role": "assistant", "content": r.content})
""",
    ),
    program(
        "memories_for_the_question_in_front_of_the_history",
        "CTX303",
        """
class Bot:
    def say(self, question):
        self.messages.append({"role": "user", "content": question})
        sent = [
            {"role": "user", "content": f"About: {question}"},
            {"role": "assistant", "content": "ok"},
        ] + self.messages
        return self.client.messages.create(model="m", system="S", messages=sent)
""",
    ),
    program(
        "two_calls_in_one_turn_on_a_growing_history_are_clean",
        "",
        """
def run(client):
    messages = []
    while True:
        messages.append({"role": "user", "content": input()})
        r = client.messages.create(model="m", system="S", messages=messages)
        messages.append({"role": "assistant", "content": r.content})
        messages.append({"role": "user", "content": "Check your answer."})
        r = client.messages.create(model="m", system="S", messages=messages)
        messages.append({"role": "assistant", "content": r.content})
""",
    ),
    program(
        "a_clock_before_a_marked_document_in_the_newest_message",
        "CTX101",
        """
from datetime import datetime

def ask(client, text):
    return client.messages.create(
        model="m",
        system="S",
        messages=[
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": f"It is {datetime.now()}"},
                    {"type": "text", "text": DOC, "cache_control": {"type": "ephemeral"}},
                    {"type": "text", "text": text},
                ],
            }
        ],
    )
""",
    ),
    program(
        "a_clock_behind_a_marked_document_in_the_newest_message_is_clean",
        "",
        """
from datetime import datetime

def ask(client, text):
    return client.messages.create(
        model="m",
        system="S",
        messages=[
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": DOC, "cache_control": {"type": "ephemeral"}},
                    {"type": "text", "text": f"It is {datetime.now()}. {text}"},
                ],
            }
        ],
    )
""",
    ),
    program(
        "a_marker_on_the_message_itself",
        "CTX406",
        """
def ask(client, text):
    return client.messages.create(
        model="m",
        system="S",
        messages=[{"role": "user", "content": text, "cache_control": {"type": "ephemeral"}}],
    )
""",
    ),
    program(
        "a_marker_on_a_thinking_block",
        "CTX406",
        """
def ask(client, text, thought):
    return client.messages.create(
        model="m",
        system="S",
        messages=[
            {"role": "user", "content": "a"},
            {
                "role": "assistant",
                "content": [
                    {
                        "type": "thinking",
                        "thinking": thought,
                        "signature": "s",
                        "cache_control": {"type": "ephemeral"},
                    }
                ],
            },
            {"role": "user", "content": text},
        ],
    )
""",
    ),
    program(
        "a_marker_on_an_empty_text",
        "CTX406",
        """
def ask(client, text):
    return client.messages.create(
        model="m",
        system=[{"type": "text", "text": "", "cache_control": {"type": "ephemeral"}}],
        messages=[{"role": "user", "content": text}],
    )
""",
    ),
    program(
        "histories_per_channel_cut_to_a_window",
        "CTX303",
        """
from collections import defaultdict

histories = defaultdict(list)

async def on_message(client, channel, text):
    histories[channel].append({"role": "user", "content": text})
    return await client.messages.create(model="m", system="S", messages=histories[channel][-20:])
""",
    ),
    program(
        "streamlit_state_is_clean",
        "",
        """
import streamlit as st

if "messages" not in st.session_state:
    st.session_state.messages = []
if prompt := st.chat_input():
    st.session_state.messages.append({"role": "user", "content": prompt})
    r = client.messages.create(model="m", system="S", messages=st.session_state.messages)
    st.session_state.messages.append({"role": "assistant", "content": r.content[0].text})
""",
    ),
    program(
        "time_strftime_with_minutes",
        "CTX101",
        """
import time

def ask(client, text):
    return client.messages.create(
        model="m", system=time.strftime("It is %H:%M"), messages=[{"role": "user", "content": text}]
    )
""",
    ),
    program(
        "time_strftime_of_a_date",
        "",
        """
import time

def ask(client, text):
    return client.messages.create(
        model="m",
        system=time.strftime("It is %Y-%m-%d", time.localtime()),
        messages=[{"role": "user", "content": text}],
    )
""",
        "CTX101",
    ),
    program(
        "from_timestamp_to_a_date",
        "",
        """
import time
from datetime import datetime

def ask(client, text):
    return client.messages.create(
        model="m",
        system=datetime.fromtimestamp(time.time()).strftime("%d.%m.%Y"),
        messages=[{"role": "user", "content": text}],
    )
""",
        "CTX101",
    ),
    program(
        "a_format_constant_of_a_date",
        "",
        """
from datetime import datetime

FMT = "%Y-%m-%d"

def ask(client, text):
    return client.messages.create(
        model="m",
        system=f"Today: {datetime.now().strftime(FMT)}",
        messages=[{"role": "user", "content": text}],
    )
""",
        "CTX101",
    ),
    program(
        "seconds_cut_off_are_still_minutes",
        "CTX101",
        """
from datetime import datetime

def ask(client, text):
    return client.messages.create(
        model="m",
        system="Now " + str(datetime.now())[:16],
        messages=[{"role": "user", "content": text}],
    )
""",
    ),
    program(
        "a_prompt_of_another_module_formatted",
        "CTX101",
        """
from datetime import datetime, timezone
from app import prompts

class S:
    async def answer(self, q):
        return await self.anthropic.messages.create(
            model="m",
            system=prompts.SYSTEM.format(now=datetime.now(timezone.utc).isoformat()),
            messages=[{"role": "user", "content": q}],
        )
""",
    ),
    program(
        "jinja_rendered_with_a_clock",
        "CTX101",
        """
import jinja2, datetime

env = jinja2.Environment()

def ask(client, q):
    system = env.get_template("system.j2").render(now=datetime.datetime.now(), name="Bo")
    return client.messages.create(
        model="m", system=system, messages=[{"role": "user", "content": q}]
    )
""",
    ),
    program(
        "jinja_rendered_with_a_date",
        "",
        """
import jinja2, datetime

env = jinja2.Environment()

def ask(client, q):
    system = env.get_template("system.j2").render(
        today=datetime.date.today().isoformat(), name="Bo"
    )
    return client.messages.create(
        model="m", system=system, messages=[{"role": "user", "content": q}]
    )
""",
        "CTX101",
    ),
    program(
        "tools_gathered_into_a_dict_as_they_finish",
        "CTX203",
        """
from concurrent.futures import ThreadPoolExecutor, as_completed

def load(servers):
    found = {}
    with ThreadPoolExecutor() as pool:
        futures = {pool.submit(s.list_tools): s for s in servers}
        for future in as_completed(futures):
            found[futures[future].name] = future.result()
    return [tool for tools in found.values() for tool in tools]

def ask(client, servers, text):
    return client.messages.create(
        model="m", tools=load(servers), messages=[{"role": "user", "content": text}]
    )
""",
    ),
    program(
        "tools_gathered_as_they_finish_then_sorted_is_clean",
        "",
        """
from concurrent.futures import ThreadPoolExecutor, as_completed

def load(servers):
    found = []
    with ThreadPoolExecutor() as pool:
        for future in as_completed([pool.submit(s.list_tools) for s in servers]):
            found.extend(future.result())
    return sorted(found, key=lambda tool: tool["name"])

def ask(client, servers, text):
    return client.messages.create(
        model="m", tools=load(servers), messages=[{"role": "user", "content": text}]
    )
""",
    ),
    program(
        "sorted_by_set_of_priority_is_clean",
        "",
        """
PRIORITY = {"search", "read"}

def ask(client, text, tools):
    ordered = sorted(tools, key=lambda t: (t["name"] not in PRIORITY, t["name"]))
    return client.messages.create(
        model="m", tools=ordered, messages=[{"role": "user", "content": text}]
    )
""",
    ),
    program(
        "a_set_turned_to_a_sorted_tuple_is_clean",
        "",
        """
def ask(client, text, tags):
    tags = tuple(sorted(set(tags)))
    return client.messages.create(
        model="m", system=f"Tags: {tags}", messages=[{"role": "user", "content": text}]
    )
""",
    ),
    program(
        "a_loop_over_a_set_that_builds_text",
        "CTX202",
        """
def ask(client, text, tags):
    system = "Tags:\\n"
    for tag in set(tags):
        system += f"- {tag}\\n"
    return client.messages.create(
        model="m", system=system, messages=[{"role": "user", "content": text}]
    )
""",
    ),
    program(
        "a_loop_over_a_sorted_set_that_builds_text_is_clean",
        "",
        """
def ask(client, text, tags):
    system = "Tags:\\n"
    for tag in sorted(set(tags)):
        system += f"- {tag}\\n"
    return client.messages.create(
        model="m", system=system, messages=[{"role": "user", "content": text}]
    )
""",
    ),
    program(
        "cheap_first_then_strong_on_failure_is_not_confirmed",
        "",
        """
def ask(client, text):
    for model in ("claude-haiku-5", "claude-opus-5"):
        r = client.messages.create(
            model=model, system="S", messages=[{"role": "user", "content": text}]
        )
        if good(r):
            return r
""",
        "CTX301",
    ),
    program(
        "models_by_index_in_the_session",
        "CTX301",
        """
MODELS = ["claude-opus-5", "claude-haiku-5"]

def chat(client, questions):
    messages = []
    for i, question in enumerate(questions):
        messages.append({"role": "user", "content": question})
        r = client.messages.create(model=MODELS[i % len(MODELS)], system="S", messages=messages)
        messages.append({"role": "assistant", "content": r.content})
""",
    ),
    program(
        "a_model_set_by_the_command_line_is_clean",
        "",
        """
import argparse

def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", default="claude-opus-5")
    args = parser.parse_args()
    messages = []
    while True:
        messages.append({"role": "user", "content": input()})
        r = client.messages.create(model=args.model, system="S", messages=messages)
        messages.append({"role": "assistant", "content": r.content})
""",
    ),
    program(
        "a_uuid_per_tool_call_id_in_the_history_is_clean",
        "",
        """
import uuid

def ask(client, messages, result):
    use_id = f"toolu_{uuid.uuid4().hex}"
    messages.append(
        {
            "role": "assistant",
            "content": [{"type": "tool_use", "id": use_id, "name": "t", "input": {}}],
        }
    )
    messages.append(
        {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": use_id, "content": result}],
        }
    )
    return client.messages.create(model="m", system="S", messages=messages)
""",
    ),
    program(
        "a_file_named_by_the_time_is_clean",
        "",
        """
from datetime import datetime

def ask(client, text):
    r = client.messages.create(model="m", system="S", messages=[{"role": "user", "content": text}])
    with open(f"out-{datetime.now():%Y%m%d-%H%M%S}.json", "w") as f:
        f.write(r.to_json())
    return {"role": "assistant", "content": r.content, "time": datetime.now()}
""",
    ),
    program(
        "a_cache_key_with_a_hash_is_clean",
        "",
        """
CACHE = {}

def ask(client, text):
    key = hash(text)
    if key not in CACHE:
        CACHE[key] = client.messages.create(
            model="m", system="S", messages=[{"role": "user", "content": text}]
        )
    return CACHE[key]
""",
    ),
    program(
        "a_context_manager_that_times_is_clean",
        "",
        """
import time
from contextlib import contextmanager

@contextmanager
def timed(name):
    start = time.perf_counter()
    yield
    print(name, time.perf_counter() - start)

def ask(client, text):
    with timed("ask"):
        return client.messages.create(
            model="m", system="S", messages=[{"role": "user", "content": text}]
        )
""",
    ),
    program(
        "a_decorated_tool_function_is_clean",
        "",
        """
from datetime import datetime
from anthropic import beta_tool

@beta_tool
def now() -> str:
    \"\"\"Tell the time.\"\"\"
    return datetime.now().isoformat()

def ask(client, text):
    return client.beta.messages.tool_runner(
        model="m", tools=[now], messages=[{"role": "user", "content": text}]
    ).until_done()
""",
    ),
]

AGENTS = [
    program(
        "a_private_method_nobody_calls_here",
        "CTX101",
        """
from datetime import datetime

class A:
    def __init__(self, client):
        self.client = client
        self.system = "S"

    def _ask(self, text):
        self.last = text
        return self.client.messages.create(
            model="m",
            system=f"{self.system} {datetime.now()}",
            messages=[{"role": "user", "content": text}],
        )
""",
    ),
    program(
        "a_private_method_that_is_given_a_clock",
        "CTX101",
        """
from datetime import datetime

class A:
    def ask(self, text):
        return self._send(f"Now {datetime.now()}", text)

    def _send(self, system, text):
        return self.client.messages.create(
            model="m", system=system, messages=[{"role": "user", "content": text}]
        )
""",
    ),
    program(
        "a_long_agent_with_the_clock_far_away",
        "CTX101 CTX401",
        """
import json, logging, os
from dataclasses import dataclass, field
from datetime import datetime
import anthropic

log = logging.getLogger(__name__)

@dataclass
class Env:
    cwd: str = "/repo"
    notes: list[str] = field(default_factory=list)

    def describe(self) -> str:
        lines = [f"Working directory: {self.cwd}"]
        lines += [f"- {n}" for n in self.notes]
        lines.append("Time: " + datetime.now().strftime("%H:%M:%S"))
        return "\\n".join(lines)

class PromptBuilder:
    def __init__(self, env: Env, sections=None):
        self.env = env
        self.sections = sections or []

    def add(self, text):
        self.sections.append(text)
        return self

    def build(self):
        return "\\n\\n".join([*self.sections, self.env.describe()])

class Agent:
    def __init__(self, env=None):
        self.client = anthropic.AsyncAnthropic()
        self.env = env or Env()
        self.messages = []

    def system(self):
        builder = PromptBuilder(self.env).add("You are an agent.").add("Be brief.")
        return [{"type": "text", "text": builder.build(), "cache_control": {"type": "ephemeral"}}]

    async def turn(self, text):
        self.messages.append({"role": "user", "content": text})
        while True:
            params = {"model": "m", "max_tokens": 1, "tools": TOOLS, "messages": self.messages}
            params["system"] = self.system()
            async with self.client.messages.stream(**params) as stream:
                reply = await stream.get_final_message()
            self.messages.append({"role": "assistant", "content": reply.content})
            uses = [b for b in reply.content if b.type == "tool_use"]
            if not uses:
                return reply
            self.messages.append(
                {
                    "role": "user",
                    "content": [
                        {
                            "type": "tool_result",
                            "tool_use_id": u.id,
                            "content": json.dumps({"ok": True}),
                        }
                        for u in uses
                    ],
                }
            )
""",
    ),
    program(
        "the_same_agent_without_the_clock",
        "",
        """
import json
from dataclasses import dataclass, field
from datetime import datetime
import anthropic

@dataclass
class Env:
    cwd: str = "/repo"
    notes: list[str] = field(default_factory=list)

    def describe(self) -> str:
        return "\\n".join([f"Working directory: {self.cwd}", *[f"- {n}" for n in self.notes]])

    def clock(self):
        return "Time: " + datetime.now().strftime("%H:%M:%S")

class Agent:
    def __init__(self, env=None):
        self.client = anthropic.AsyncAnthropic()
        self.env = env or Env()
        self.messages = []

    def system(self):
        return [
            {"type": "text", "text": self.env.describe(), "cache_control": {"type": "ephemeral"}}
        ]

    async def turn(self, text):
        self.messages.append({"role": "user", "content": f"{text}\\n\\n{self.env.clock()}"})
        while True:
            params = {"model": "m", "max_tokens": 1, "tools": TOOLS, "messages": self.messages}
            params["system"] = self.system()
            async with self.client.messages.stream(**params) as stream:
                reply = await stream.get_final_message()
            self.messages.append({"role": "assistant", "content": reply.content})
            uses = [b for b in reply.content if b.type == "tool_use"]
            if not uses:
                return reply
            self.messages.append(
                {
                    "role": "user",
                    "content": [
                        {
                            "type": "tool_result",
                            "tool_use_id": u.id,
                            "content": json.dumps({"ok": True}),
                        }
                        for u in uses
                    ],
                }
            )
""",
    ),
    program(
        "markers_moved_by_clearing_all_first",
        "",
        """
def move_marker(messages):
    for message in messages:
        for block in message["content"]:
            block.pop("cache_control", None)
    messages[-1]["content"][-1]["cache_control"] = {"type": "ephemeral"}

class A:
    def say(self, text):
        self.messages.append({"role": "user", "content": [{"type": "text", "text": text}]})
        move_marker(self.messages)
        return self.client.messages.create(model="m", system="S", messages=self.messages)
""",
    ),
    program(
        "markers_added_in_a_method_each_time",
        "CTX402",
        """
class A:
    def __init__(self, client):
        self.client = client
        self.messages = []

    def say(self, text):
        self.messages.append(
            {
                "role": "user",
                "content": [{"type": "text", "text": text, "cache_control": {"type": "ephemeral"}}],
            }
        )
        r = self.client.messages.create(model="m", system="S", messages=self.messages)
        self.messages.append({"role": "assistant", "content": r.content})
""",
    ),
    program(
        "a_marker_on_a_view_made_anew_is_clean",
        "",
        """
class A:
    def say(self, text):
        self.messages.append({"role": "user", "content": text})
        *earlier, last = self.messages
        view = [
            *earlier,
            {
                "role": "user",
                "content": [
                    {
                        "type": "text",
                        "text": last["content"],
                        "cache_control": {"type": "ephemeral"},
                    }
                ],
            },
        ]
        return self.client.messages.create(model="m", system="S", messages=view)
""",
    ),
    program(
        "a_wrapper_that_is_given_a_list_of_blocks_behind_a_marker",
        "",
        """
from .llm import llm
from datetime import datetime

def ask(history):
    return llm.chat(
        system=[
            {"type": "text", "text": RULES, "cache_control": {"type": "ephemeral"}},
            {"type": "text", "text": f"{datetime.now()}"},
        ],
        messages=history,
    )
""",
    ),
    program(
        "one_line_snippets",
        "CTX101",
        """
import datetime

client.messages.create(
    model="m",
    max_tokens=5,
    system="Now: " + datetime.datetime.now().isoformat(),
    messages=[{"role": "user", "content": "hi"}],
)
""",
    ),
    program(
        "a_clock_in_a_loop_of_a_script",
        "CTX101 CTX401",
        """
from datetime import datetime

messages = []
while True:
    messages.append({"role": "user", "content": input()})
    reply = client.messages.create(
        model="m",
        system=[
            {
                "type": "text",
                "text": f"Rules. {datetime.now()}",
                "cache_control": {"type": "ephemeral"},
            }
        ],
        messages=messages,
    )
    messages.append({"role": "assistant", "content": reply.content})
""",
    ),
    program(
        "a_uuid_in_the_first_message_of_a_session_is_clean",
        "",
        """
import uuid

def session(client, tasks):
    messages = [{"role": "user", "content": f"Session {uuid.uuid4()}"}]
    for task in tasks:
        messages.append({"role": "user", "content": task})
        r = client.messages.create(model="m", system="S", messages=messages)
        messages.append({"role": "assistant", "content": r.content})
""",
    ),
    program(
        "a_system_string_from_settings_and_user_prefs_in_the_message",
        "",
        """
def reply(client, user, history, text):
    prompt = f"{user.display_name} ({user.timezone}) says: {text}"
    return client.messages.create(
        model=settings.MODEL,
        system=settings.SYSTEM_PROMPT,
        messages=[*history, {"role": "user", "content": prompt}],
    )
""",
    ),
]

PROGRAMS = [*VALUES, *SESSIONS, *SHAPES, *CORNERS, *TWINS, *AGENTS]
