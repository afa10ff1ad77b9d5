import { randomUUID } from "node:crypto";
import { describe, expect, inject, it } from "vitest";
import type { Seen } from "./upstream.ts";

// Checkers of the configuration: the model server plays them.

const base = inject("baseUrl");
const upstream = inject("upstreamUrl");
const account = inject("accountId");
const authorization = `Bearer ${inject("token")}`;
const management = `${base}/client/v4/accounts/${account}/ai-gateway/gateways`;

async function gatewayWith(profile: string, action: "BLOCK" | "FLAG" = "BLOCK"): Promise<string> {
  const id = `c-${randomUUID().slice(0, 8)}`;
  const check = ["REQUEST", "RESPONSE"];
  const policy = { id: "outside", enabled: true, action, check, profiles: [profile] };
  const dlp = { enabled: true, policies: [policy] };
  const made = await fetch(management, {
    method: "POST",
    headers: { authorization, "content-type": "application/json" },
    body: JSON.stringify({ id, authentication: false, dlp }),
  });
  expect(made.status).toBe(200);
  return id;
}

function ask(gateway: string, content: string, more: object = {}): Promise<Response> {
  return fetch(`${base}/v1/${account}/${gateway}/compat/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ model: "echo/echo", messages: [{ role: "user", content }], ...more }),
  });
}

async function lastRow(gateway: string): Promise<Record<string, unknown>> {
  let row: Record<string, unknown> | undefined;
  await expect
    .poll(async () => {
      const answer = await fetch(`${management}/${gateway}/logs`, { headers: { authorization } });
      const { result } = (await answer.json()) as { result: Record<string, unknown>[] };
      [row] = result;
      return row !== undefined;
    })
    .toBe(true);
  return row ?? {};
}

async function codeOf(answer: Response): Promise<unknown> {
  const { error } = (await answer.json()) as { error?: { code: number; message: string }[] };
  return [answer.status, error?.[0]?.code, error?.[0]?.message];
}

describe("a gateway that masks", () => {
  const text = "to ann@example.org, card 4111 1111 1111 1111";

  it("sends placeholders and gets the values back, whole and as a stream", async () => {
    const id = `m-${randomUUID().slice(0, 8)}`;
    const dlp = { enabled: true, action: "MASK", profiles: ["pii", "financial"] };
    const made = await fetch(management, {
      method: "POST",
      headers: { authorization, "content-type": "application/json" },
      body: JSON.stringify({ id, authentication: false, dlp }),
    });
    expect(made.status).toBe(200);
    const whole = await ask(id, text);
    expect(whole.headers.get("cf-aig-dlp")).toContain('"action":"MASK"');
    expect(await whole.json()).toMatchObject({ choices: [{ message: { content: text } }] });
    const events = await (await ask(id, text, { stream: true })).text();
    const deltas = [...events.matchAll(/^data: (\{.*\})$/gm)].map(
      ([, json]) => JSON.parse(json ?? "").choices[0]?.delta.content ?? "",
    );
    expect(deltas.join("")).toBe(text);
    const row = await lastRow(id);
    expect(row["dlp_action"]).toBe("MASK");
    const detail = await fetch(`${management}/${id}/logs/${String(row["id"])}`, {
      headers: { authorization },
    });
    const logged = await detail.text();
    expect([logged.includes("[EMAIL_1]"), logged.includes("ann@example.org")]).toEqual([
      true,
      false,
    ]);
    const mirrored = await fetch(`${base}/v1/${account}/${id}/openai/chat/completions`, {
      method: "POST",
      headers: { "content-type": "application/json", "x-test-mode": "gzip", "x-test-id": id },
      body: JSON.stringify({ model: "gpt-4o", messages: [{ role: "user", content: text }] }),
    });
    expect(await mirrored.text()).toContain("Hello from upstream");
    const [seen] = (await (await fetch(`${upstream}/__seen/${id}`)).json()) as Seen[];
    expect(JSON.parse(seen?.body ?? "").messages[0].content).toBe(
      "to [EMAIL_1], card [CREDIT_CARD_1]",
    );
  });
});

describe("a server that checks texts", () => {
  it("holds a request back, and says why to the client and in the log", async () => {
    const gateway = await gatewayWith("words");
    const answer = await ask(gateway, "a forbidden thing");
    expect(answer.headers.get("cf-aig-dlp")).toContain('"reason":"a forbidden word"');
    expect(await codeOf(answer)).toEqual([
      400,
      2029,
      "Request content blocked due to DLP policy violations: outside (words: a forbidden word)",
    ]);
    expect(await lastRow(gateway)).toMatchObject({
      dlp_action: "BLOCK",
      note: expect.stringContaining("words: a forbidden word"),
    });
  });

  it("flags a request and lets it pass", async () => {
    for (const [content, action] of [
      ["a watched thing", "BLOCK"],
      ["a forbidden thing", "FLAG"],
    ] as const) {
      const gateway = await gatewayWith("words", action);
      const answer = await ask(gateway, content);
      expect(answer.status).toBe(200);
      expect(answer.headers.get("cf-aig-dlp")).toContain('"action":"FLAG"');
      await answer.text();
      const { dlp_action: found, note } = await lastRow(gateway);
      expect([found, note]).toEqual([
        "FLAG",
        expect.stringMatching(/^words: a (?:watched|forbidden) word/),
      ]);
    }
  });

  it("sees answers, and the joined pieces of a stream", async () => {
    const gateway = await gatewayWith("words");
    for (const stream of [false, true]) {
      const answer = await ask(gateway, "harmless", { stream });
      expect(answer.status).toBe(200);
      await answer.text();
    }
    const seen = (await (await fetch(`${upstream}/__seen/guard-words`)).json()) as Seen[];
    const answers = seen
      .map(({ body }) => JSON.parse(body) as { texts: string[]; input_type: string })
      .filter(({ input_type: type }) => type === "response");
    expect(
      answers.map(({ texts }) => texts[0]).filter((text) => text?.includes("harmless")),
    ).toHaveLength(2);
  });

  it("holds back what gets no verdict in time, unless it is told otherwise", async () => {
    const [status, code] = (await codeOf(await ask(await gatewayWith("strict"), "x"))) as unknown[];
    expect([status, code]).toEqual([503, 7013]);
    for (const [profile, action] of [
      ["lenient", "BLOCK"],
      ["strict", "FLAG"],
    ] as const) {
      const answer = await ask(await gatewayWith(profile, action), "x");
      expect([profile, answer.status]).toEqual([profile, 200]);
      await answer.text();
    }
  });
});
