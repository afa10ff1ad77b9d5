import { readFileSync } from "node:fs";
import { randomUUID } from "node:crypto";
import { describe, expect, it } from "vitest";
import { account, base, seen } from "../fakes/gateway-sent.ts";
import { jsonEvents } from "./json-events.ts";

type Body = Record<string, unknown>;

/** A request as the client's binary sent it (`recorded/README.md`). */
interface Recorded {
  readonly scene: string;
  readonly path: string;
  readonly headers: Record<string, string>;
  readonly body: Body;
}

const recording = (client: string): readonly Recorded[] => {
  const text = readFileSync(new URL(`recorded/${client}.json`, import.meta.url), "utf8");
  return (JSON.parse(text) as { requests: readonly Recorded[] }).requests;
};
const claude = recording("claude-code");
const codex = recording("codex");
const scene = (all: readonly Recorded[], name: string): readonly Recorded[] =>
  all.filter((one) => one.scene === name);

/** Sends a recorded request again, for another model. */
async function replay(
  { path, headers, body }: Recorded,
  model: string,
): Promise<{ answer: Response; text: string; id: string }> {
  const id = randomUUID();
  const answer = await fetch(`${base}/v1/${account}/open/compat${path}`, {
    method: "POST",
    headers: {
      ...headers,
      authorization: "Bearer sk-own",
      "x-test-mode": "native",
      "x-test-id": id,
    },
    body: JSON.stringify({ ...body, model }),
  });
  return { answer, text: await answer.text(), id };
}

const sentBody = async (id: string): Promise<Body> => {
  const [first] = await seen(id);
  return JSON.parse(first?.body ?? "null") as Body;
};

/** The member of a provider's request that holds the conversation. */
const conversationOf = (model: string): string =>
  model.startsWith("google-") ? "contents" : "messages";

/** Models of a provider that takes chats alone, of Anthropic, of OpenAI, and of Google. */
const models = ["mistral/m", "anthropic/claude-x", "openai/gpt-x", "google-ai-studio/gemini-x"];

describe.each(models)("Claude Code over %s", (model) => {
  const isOwn = model.startsWith("anthropic/");
  const [asked, answered] = scene(claude, "tool round");

  it("streams a call of a tool", async () => {
    if (asked === undefined) throw new Error("Nothing is recorded");
    const { answer, text, id } = await replay(asked, model);
    expect(answer.status).toBe(200);
    const events = jsonEvents(text);
    expect(events.map(({ type }) => type)).toContain("content_block_start");
    expect(events.at(-1)).toMatchObject({ type: "message_stop" });
    const use = { type: "tool_use", name: "Agent" };
    const start = { type: "content_block_start", content_block: use };
    expect(events).toContainEqual(expect.objectContaining(asMatch(start)));
    const dropped = answer.headers.get("cf-aig-dropped") ?? "";
    expect(dropped.split(", ").includes("context_management")).toBe(!isOwn);
    const [sent] = await seen(id);
    const headers = (sent?.rawHeaders ?? []).map((name) => name.toLowerCase());
    expect(headers.includes("anthropic-beta")).toBe(isOwn);
    expect(headers.includes("anthropic-version")).toBe(isOwn);
  });

  it("goes on with the result of the tool", async () => {
    if (answered === undefined) throw new Error("Nothing is recorded");
    const { answer, text, id } = await replay(answered, model);
    expect([answer.status, text.includes("message_stop")]).toEqual([200, true]);
    const roles = ((await sentBody(id))["messages"] ?? []) as { role: string }[];
    // Most open models take one system message, at the beginning.
    if (model === "mistral/m")
      expect(roles.map(({ role }) => role)).toEqual(["system", "user", "assistant", "tool"]);
    expect(JSON.stringify((await sentBody(id))[conversationOf(model)])).toContain('"hello"');
  });

  it("compacts its conversation", async () => {
    const [compaction] = scene(claude, "compaction");
    if (compaction === undefined) throw new Error("Nothing is recorded");
    const { answer, text } = await replay(compaction, model);
    expect([answer.status, text.includes("message_stop")]).toEqual([200, true]);
  });

  it("counts tokens", async () => {
    for (const request of scene(claude, "counting")) {
      const { answer, text } = await replay(request, model);
      expect(answer.status).toBe(200);
      expect(JSON.parse(text)).toEqual({ input_tokens: expect.any(Number) });
    }
  });

  it("loads a tool that it has found", async () => {
    const [, found] = scene(claude, "tool search");
    if (found === undefined) throw new Error("Nothing is recorded");
    const { answer, id } = await replay(found, model);
    expect(answer.status).toBe(200);
    const tools = JSON.stringify((await sentBody(id))["tools"]);
    expect(tools).toContain('"WebFetch"');
    expect(tools.includes("DeferredToolPlaceholder")).toBe(isOwn);
  });

  it("reads an error in its own format", async () => {
    if (asked === undefined) throw new Error("Nothing is recorded");
    const { answer, text } = await replay(asked, `${model.split("/")[0]}/missing-model`);
    expect(answer.status).toBe(404);
    expect(JSON.parse(text)).toMatchObject({ type: "error", error: { type: "not_found_error" } });
  });
});

describe.each(models)("Codex over %s", (model) => {
  const isOwn = model.startsWith("openai/");
  const [asked, answered] = scene(codex, "tool round");

  it("streams a call of a tool", async () => {
    if (asked === undefined) throw new Error("Nothing is recorded");
    const { answer, text } = await replay(asked, model);
    expect(answer.status).toBe(200);
    const events = jsonEvents(text);
    expect(events.at(-1)).toMatchObject({ type: "response.completed" });
    const item = { type: "function_call", name: "exec_command" };
    const done = { type: "response.output_item.done", item };
    if (!isOwn) expect(events).toContainEqual(expect.objectContaining(asMatch(done)));
  });

  it("goes on with the result of the tool", async () => {
    if (answered === undefined) throw new Error("Nothing is recorded");
    const { answer, text, id } = await replay(answered, model);
    expect([answer.status, text.includes("response.completed")]).toEqual([200, true]);
    if (!isOwn)
      expect(JSON.stringify((await sentBody(id))[conversationOf(model)])).toContain("hello");
  });

  it("compacts its conversation, and goes on with the summary", async () => {
    const rounds = scene(codex, "compaction");
    expect(rounds.length).toBeGreaterThan(1);
    for (const round of rounds) {
      const { answer, text } = await replay(round, model);
      expect([answer.status, text.includes("response.completed")]).toEqual([200, true]);
    }
  });

  it("brings tools in its input, in namespaces", async () => {
    const [request] = scene(codex, "additional tools");
    if (request === undefined) throw new Error("Nothing is recorded");
    const { answer, text, id } = await replay(request, model);
    expect(answer.status).toBe(200);
    if (isOwn) return expect(await sentBody(id)).toEqual({ ...request.body, model: "gpt-x" });
    const item = { type: "custom_tool_call", name: "exec", namespace: "functions" };
    const done = { type: "response.output_item.done", item };
    expect(jsonEvents(text)).toContainEqual(expect.objectContaining(asMatch(done)));
    expect(JSON.stringify(await sentBody(id))).toContain('"functions__exec"');
  });

  it("searches the web where the provider does, and hears by name where it cannot", async () => {
    const [request] = scene(codex, "with a web search");
    if (request === undefined) throw new Error("Nothing is recorded");
    const { answer, text, id } = await replay(request, model);
    expect(answer.status).toBe(isOwn ? 200 : 400);
    if (isOwn) expect(await sentBody(id)).toEqual({ ...request.body, model: "gpt-x" });
    else expect(text).toContain('tools: \\"web_search\\"');
  });

  it("edits by a custom tool, and searches for tools, without the web", async () => {
    for (const request of scene(codex, "with a web search")) {
      const tools = (request.body["tools"] as Body[]).filter(({ type }) => type !== "web_search");
      const { answer } = await replay({ ...request, body: { ...request.body, tools } }, model);
      expect(answer.status).toBe(200);
    }
  });

  it("reads an error in its own format", async () => {
    if (asked === undefined) throw new Error("Nothing is recorded");
    const { answer, text } = await replay(asked, `${model.split("/")[0]}/missing-model`);
    expect(answer.status).toBe(404);
    expect(JSON.parse(text)).toMatchObject({ error: { code: "model_not_found" } });
  });
});

/** The members of a match, with objects within as matches. */
function asMatch(given: Body): Body {
  const entries = Object.entries(given).map(([name, value]) => [
    name,
    typeof value === "object" ? expect.objectContaining(value as Body) : value,
  ]);
  return Object.fromEntries(entries) as Body;
}
