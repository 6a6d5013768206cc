// The TypeScript SDK against a running emulator; its cache fields are those of the API, in message.usage.
//
// To run it, start `python3 -m ctxlab emulate --port 8089` in the clone; then, in an empty folder of your own:
//   npm install @anthropic-ai/sdk zod
//   cp CLONE/tests/interop/typescript.mjs . && ANTHROPIC_BASE_URL=http://127.0.0.1:8089 node typescript.mjs
// It prints a line per feature and ends with 1 if one of them failed. pytest does not collect it: the suite
// needs neither Node nor this package. tests/test_emulator_interop.py replays what this client sent.

import Anthropic from "@anthropic-ai/sdk";
import { betaZodTool } from "@anthropic-ai/sdk/helpers/beta/zod";
import { VERSION } from "@anthropic-ai/sdk/version";
import assert from "node:assert/strict";
import { z } from "zod";

const baseURL = process.env.ANTHROPIC_BASE_URL ?? "http://127.0.0.1:8089";
const apiKey = "emulated-key"; // a real one stays where it is
assert.equal(new URL(baseURL).hostname, "127.0.0.1", "this script is for an emulator on this machine");
const client = new Anthropic({ baseURL, apiKey, maxRetries: 0 });
const stranger = new Anthropic({ baseURL, apiKey: "wrong", maxRetries: 0 });

const model = "claude-haiku-5-5"; // caches from 512 tokens on, and lets a request force a tool
const mark = { type: "ephemeral" };
let made = 0;
// the emulator remembers for five minutes: no two prompts of any run may be alike
const rules = () =>
  `Handbook ${Date.now()}-${made++}.\n` + "Answer from the handbook, and name the page. ".repeat(120);
const system = (text, marker = mark) => [{ type: "text", text, cache_control: marker }];
const asks = (text) => [{ role: "user", content: text }];
const weather = {
  name: "weather",
  description: "Weather of a city",
  input_schema: { type: "object", properties: {} },
};
const marked = ["a", "b", "c", "d", "e"].map((text) => ({ type: "text", text, cache_control: mark }));
const fiveMarkers = [{ role: "user", content: marked }]; // one more than may be marked
const hello = (from, more) => from.messages.create({ model, max_tokens: 9, messages: asks("Hi"), ...more });

function wroteThenRead(first, second) {
  assert.ok(first.cache_creation_input_tokens > 512);
  assert.equal(first.cache_read_input_tokens, 0);
  assert.equal(second.cache_read_input_tokens, first.cache_creation_input_tokens);
  assert.equal(second.cache_creation_input_tokens, 0);
  return `wrote ${first.cache_creation_input_tokens}, then read ${second.cache_read_input_tokens}`;
}

async function refused(status, kind, promise, says) {
  const error = await promise.then(
    () => assert.fail("was accepted"),
    (error) => error,
  );
  assert.ok(error instanceof kind, `${error.constructor.name}: ${error.message}`);
  assert.equal(error.status, status);
  assert.match(error.message, says);
  assert.match(error.requestID, /^req_/);
  return `${error.constructor.name} ${error.status}, ${error.requestID}`;
}

const features = {
  async "write, then read"() {
    const text = rules();
    const create = (question) =>
      client.messages.create({ model, max_tokens: 50, system: system(text), messages: asks(question) });
    const first = await create("Page one?");
    const second = await create("Page two?");
    assert.equal(second.content[0].text, "Page two?");
    assert.equal(
      first.usage.cache_creation.ephemeral_5m_input_tokens,
      first.usage.cache_creation_input_tokens,
    );
    assert.match(second._request_id, /^req_/);
    return wroteThenRead(first.usage, second.usage);
  },

  async "write for one hour"() {
    const marker = { type: "ephemeral", ttl: "1h" };
    const { usage } = await client.messages.create({
      model,
      max_tokens: 50,
      system: system(rules(), marker),
      messages: asks("Page one?"),
    });
    assert.ok(usage.cache_creation.ephemeral_1h_input_tokens > 512);
    assert.equal(usage.cache_creation.ephemeral_5m_input_tokens, 0);
    return `cache_creation.ephemeral_1h_input_tokens ${usage.cache_creation.ephemeral_1h_input_tokens}`;
  },

  async streamed() {
    const text = rules();
    const usages = [];
    for (const question of ["Page one?", "Page two?"]) {
      const types = [];
      const stream = await client.messages.create({
        model,
        max_tokens: 50,
        stream: true,
        system: system(text),
        messages: asks(question),
      });
      for await (const event of stream) {
        types.push(event.type);
        if (event.type === "message_start") usages.push(event.message.usage);
      }
      assert.equal(types[0], "message_start");
      assert.equal(types.at(-1), "message_stop");
    }
    return wroteThenRead(...usages);
  },

  async "messages.stream"() {
    const text = rules();
    const usages = [];
    for (const question of ["Page one?", "Page two?"]) {
      const stream = client.messages.stream({
        model,
        max_tokens: 50,
        system: system(text),
        messages: asks(question),
      });
      let said = "";
      stream.on("text", (delta) => (said += delta));
      const message = await stream.finalMessage();
      assert.equal(said, question);
      assert.equal(message.stop_reason, "end_turn");
      usages.push(message.usage);
    }
    return wroteThenRead(...usages);
  },

  async "automatic marker, two turns"() {
    const messages = asks(rules());
    const turn = () => client.messages.create({ model, max_tokens: 2000, cache_control: mark, messages });
    const first = await turn();
    messages.push({ role: "assistant", content: first.content }, { role: "user", content: "Go on." });
    const second = await turn();
    assert.equal(second.usage.cache_read_input_tokens, first.usage.cache_creation_input_tokens);
    const more = second.usage.cache_creation_input_tokens;
    assert.ok(more > 0);
    return `read ${second.usage.cache_read_input_tokens}, wrote ${more} more`;
  },

  async "tool use"() {
    const text = rules();
    const shared = { model, max_tokens: 200, system: system(text), tools: [weather] };
    const messages = asks("Is it raining?");
    const first = await client.messages.create({
      ...shared,
      messages,
      tool_choice: { type: "tool", name: "weather" },
    });
    assert.equal(first.stop_reason, "tool_use");
    const use = first.content.find((block) => block.type === "tool_use");
    messages.push(
      { role: "assistant", content: first.content },
      { role: "user", content: [{ type: "tool_result", tool_use_id: use.id, content: "It rains." }] },
    );
    const second = await client.messages.create({ ...shared, messages, tool_choice: { type: "auto" } });
    assert.equal(second.stop_reason, "end_turn");
    assert.equal(second.usage.cache_read_input_tokens, first.usage.cache_creation_input_tokens);
    return `${use.id}; another tool_choice still read ${second.usage.cache_read_input_tokens}`;
  },

  async "tool use, streamed"() {
    const stream = client.messages.stream({
      model,
      max_tokens: 200,
      system: system(rules()),
      tools: [weather],
      messages: asks("Is it raining?"),
      tool_choice: { type: "tool", name: "weather" },
    });
    const message = await stream.finalMessage();
    const use = message.content.find((block) => block.type === "tool_use");
    assert.deepEqual(use.input, {});
    return `${use.name}(${JSON.stringify(use.input)}), stop_reason ${message.stop_reason}`;
  },

  async "beta tool runner"() {
    const calls = [];
    const tool = betaZodTool({
      name: "weather",
      description: "Weather of a city",
      inputSchema: z.object({ city: z.string().optional() }),
      run: (input) => (calls.push(input), "It rains."),
    });
    const runner = client.beta.messages.toolRunner({
      model,
      max_tokens: 200,
      system: system(rules()),
      tools: [tool],
      messages: asks("Is it raining?"),
      tool_choice: { type: "tool", name: "weather" },
      max_iterations: 2, // forced in every turn: it would go on for ever
    });
    const usages = [];
    for await (const message of runner) usages.push(message.usage);
    assert.equal(usages.length, 2);
    assert.deepEqual(calls, [{}, {}]);
    return `${usages.length} requests, tool ran ${calls.length} times; ${wroteThenRead(...usages)}`;
  },

  async count_tokens() {
    const text = rules();
    const { input_tokens } = await client.messages.countTokens({
      model,
      system: system(text),
      messages: asks("Page one?"),
    });
    const { usage } = await client.messages.create({
      model,
      max_tokens: 50,
      system: system(text),
      messages: asks("Page one?"),
    });
    const used = usage.input_tokens + usage.cache_creation_input_tokens + usage.cache_read_input_tokens;
    assert.equal(input_tokens, used);
    return `input_tokens ${input_tokens}, the same as create's`;
  },

  async models() {
    const ids = [];
    for await (const one of client.models.list()) ids.push(one.id);
    assert.ok(ids.includes(model));
    return `${ids.length} listed, ${(await client.models.retrieve(model)).display_name} retrieved`;
  },

  "401, wrong key": () => refused(401, Anthropic.AuthenticationError, hello(stranger), /invalid x-api-key/),

  "400, five markers": () =>
    refused(400, Anthropic.BadRequestError, hello(client, { messages: fiveMarkers }), /maximum of 4 blocks/),

  "400, five markers, streamed": () => {
    const streamed = hello(client, { messages: fiveMarkers, stream: true });
    return refused(400, Anthropic.BadRequestError, streamed, /maximum of 4 blocks/);
  },

  "404, unknown model": () =>
    refused(404, Anthropic.NotFoundError, hello(client, { model: "claude-opus-9" }), /claude-opus-9/),

  "501, not emulated": () =>
    refused(501, Anthropic.NotImplementedError, client.messages.batches.list(), /not emulated/),
};

console.log(`@anthropic-ai/sdk ${VERSION}, Node ${process.versions.node}`);
for (const [name, feature] of Object.entries(features)) {
  try {
    console.log(`works  ${name}: ${await feature()}`);
  } catch (error) {
    process.exitCode = 1;
    console.log(`FAILS  ${name}: ${error.message}`);
  }
}
