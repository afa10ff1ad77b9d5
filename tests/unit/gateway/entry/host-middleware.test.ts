import { type Context, Hono } from "hono";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { gatewayParts } from "../../../../core/gateway/mod.ts";
import {
  chat,
  type GatewayUnderTest,
  gatewayUnderTest,
  jsonInit,
  requiredSettings,
} from "../../../fakes/gateway-app.ts";
import { jsonReply } from "../../../fakes/gateway-transport.ts";

let gate: GatewayUnderTest;
beforeAll(async () => {
  gate = await gatewayUnderTest();
});
afterAll(() => gate.close());
beforeEach(() => {
  gate.transport.behave = () => jsonReply({ ok: true });
});

/** Sends a request to a gateway below a host's middleware that reads the body first. */
async function sent(
  path: string,
  init: RequestInit,
  read: (c: Context) => Promise<unknown>,
): Promise<string> {
  const host = new Hono();
  host.use(async (c, next) => {
    await read(c);
    await next();
  });
  host.route("/llm", gate.app);
  const url = `http://host.test/llm/v1/acme/${path}`;
  const response = await host.fetch(new Request(url, { method: "POST", ...init }));
  expect(await response.json()).toEqual({ ok: true });
  return gate.transport.bodies.at(-1) ?? "";
}

describe("a host's middleware that has read the body", () => {
  const readers: readonly (readonly [string, (c: Context) => Promise<unknown>])[] = [
    ["text()", (c) => c.req.text()],
    ["json()", (c) => c.req.json()],
    ["arrayBuffer()", (c) => c.req.arrayBuffer()],
    ["blob()", (c) => c.req.blob()],
  ];
  it.each(readers)("by %s leaves its bytes to the provider", async (_, read) => {
    const body = `{ "model": "é",\n "n": 1.50 }`;
    const init = { body, headers: { "content-type": "application/json" } };
    expect(await sent("open/openai/x", init, read)).toBe(body);
  });

  it("leaves universal and unified requests as they are", async () => {
    const step = { provider: "openai", endpoint: "x", headers: {}, query: chat };
    expect(await sent("open", jsonInit([step]), (c) => c.req.text())).toBe(JSON.stringify(chat));
    const unified = jsonInit({ ...chat, model: "openai/gpt-4o" });
    expect(await sent("open/compat/chat/completions", unified, (c) => c.req.json())).toContain(
      '"model":"gpt-4o"',
    );
  });

  it("by parseBody() leaves the fields of a form", async () => {
    const form = new FormData();
    form.set("purpose", "batch");
    form.set("file", new File(["of bytes"], "a.txt"));
    const body = await sent("open/openai/files", { body: form }, (c) => c.req.parseBody());
    const type = gate.transport.requests
      .at(-1)
      ?.headers.find(([name]) => name === "content-type")?.[1];
    const read = await new Response(body, { headers: { "content-type": String(type) } }).formData();
    expect(read.get("purpose")).toBe("batch");
    const file = read.get("file");
    expect(file instanceof File && (await file.text())).toBe("of bytes");
  });

  it("leaves REST inference and management calls as they are", async () => {
    const host = new Hono();
    host.use(async (c, next) => {
      await c.req.text();
      await next();
    });
    const { management } = gatewayParts({ platform: gate.platform, auth: "off" });
    host.route("/", management);
    const call = async (path: string, body: unknown): Promise<number> => {
      const url = `http://host.test/accounts/acme/${path}`;
      return (await host.fetch(new Request(url, { method: "POST", ...jsonInit(body) }))).status;
    };
    const model = "openai/gpt-4o";
    expect(await call("ai/v1/chat/completions", { ...chat, model })).toBe(200);
    expect(await call("ai-gateway/gateways", { id: "read", ...requiredSettings })).toBe(200);
  });
});
