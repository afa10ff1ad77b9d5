import { randomUUID } from "node:crypto";
import { request } from "node:http";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { pdf, pptx } from "../fakes/search-documents.ts";

const base = `${inject("baseUrl")}/client/v4/accounts/${inject("accountId")}/ai-search`;
const headers = { authorization: `Bearer ${inject("token")}` };
const id = `http-${randomUUID().slice(0, 8)}`;

interface Body {
  readonly success: boolean;
  readonly errors: { code: number; message: string }[];
  readonly result: {
    chunks: { text: string; score: number; page_number?: number; item: { key: string } }[];
    status: string;
    id: string;
  } | null;
}

async function call(
  method: string,
  path: string,
  body?: unknown,
): Promise<{ status: number; body: Body }> {
  const response = await fetch(`${base}${path}`, {
    method,
    headers: { ...headers, "content-type": "application/json" },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return { status: response.status, body: (await response.json()) as Body };
}

async function upload(key: string, content: string | Uint8Array<ArrayBuffer>): Promise<Body> {
  const form = new FormData();
  form.set("file", new File([content], key, { type: key.endsWith(".md") ? "text/markdown" : "" }));
  form.set("wait_for_completion", "true");
  const response = await fetch(`${base}/namespaces/default/instances/${id}/items`, {
    method: "POST",
    headers,
    body: form,
  });
  return (await response.json()) as Body;
}

const question = { messages: [{ role: "user", content: "When does the ferry leave?" }] };

beforeAll(async () => {
  expect((await call("POST", "/instances", { id })).status).toBe(200);
  expect(
    (await upload("ferry.md", "# Timetable\n\nThe ferry leaves at noon. It takes cars.")).result
      ?.status,
  ).toBe("completed");
  await upload(
    "bread.md",
    "# Bread\n\nKnead the dough for ten minutes. 東京都で会議がありました。",
  );
});
afterAll(async () => {
  await call("DELETE", `/instances/${id}`);
});

it("answers long bodies that come together, though one is parsed at a time", async () => {
  const filler = { role: "user", content: 'a "quoted" word '.repeat(150_000) };
  const many = Array.from({ length: 6 }, () =>
    call("POST", `/instances/${id}/search`, { messages: [filler, ...question.messages] }),
  );
  const found = await Promise.all(many);
  for (const { status, body } of found) {
    expect([status, body.errors]).toEqual([200, []]);
    expect(body.result?.chunks[0]?.item.key).toBe("ferry.md");
  }
});

describe("search", () => {
  it("finds what was uploaded, under both path forms", async () => {
    for (const path of [`/instances/${id}/search`, `/namespaces/default/instances/${id}/search`]) {
      const { status, body } = await call("POST", path, question);
      expect(status).toBe(200);
      expect(body.result?.chunks[0]).toMatchObject({ score: 1, item: { key: "ferry.md" } });
    }
    const { body } = await call("POST", `/instances/${id}/search`, { query: "会議" });
    expect(body.result?.chunks[0]?.item.key).toBe("bread.md");
  });

  it("finds a file by a word of its name alone", async () => {
    await upload("Rechnung-2025-Stadtwerke.md", "The amount is due at the end of the month.");
    const { body } = await call("POST", `/instances/${id}/search`, { query: "Stadtwerke" });
    expect(body.result?.chunks[0]?.item.key).toBe("Rechnung-2025-Stadtwerke.md");
  });

  it("tells the page of a PDF that a result is from", async () => {
    const { errors, result } = await upload(
      "animals.pdf",
      pdf("Herons stand in shallow water.", "Otters sleep holding hands."),
    );
    // The server of this suite has no `readFile` there.
    if (inject("target") === "workers") {
      expect(errors).toMatchObject([{ code: 7060 }]);
      return;
    }
    const { body } = await call("POST", `/instances/${id}/search`, { query: "otters sleep" });
    expect(body.result?.chunks[0]).toMatchObject({ page_number: 2, item: { key: "animals.pdf" } });
    const listed = await call("GET", `/instances/${id}/items/${result?.id}/chunks`);
    expect(listed.body.result).toMatchObject([{ page_number: 1 }, { page_number: 2 }]);
    const chat = await fetch(`${base}/instances/${id}/chat/completions`, {
      method: "POST",
      headers,
      body: JSON.stringify({ messages: [{ role: "user", content: "How do otters sleep?" }] }),
    });
    expect(await chat.json()).toMatchObject({ chunks: [{ page_number: 2 }] });
  });

  it("tells which slide of a presentation could not be read", async () => {
    const { errors, result } = await upload("talk.pptx", new Uint8Array(pptx("slides/slide3.xml")));
    if (inject("target") === "workers") {
      expect(errors).toMatchObject([{ code: 7060 }]);
      return;
    }
    const warnings = [
      { code: "part_not_read", message: '"ppt/slides/slide3.xml" is missing', page: 1 },
    ];
    expect(result).toMatchObject({ status: "completed", warnings });
    const { body } = await call("GET", `/instances/${id}/items/${result?.id}`);
    expect(body.result).toMatchObject({ status: "completed", warnings });
  });

  it("wants a token and answers in the envelope", async () => {
    const response = await fetch(`${base}/instances/${id}/search`, {
      method: "POST",
      body: JSON.stringify(question),
    });
    expect(response.status).toBe(401);
    expect(await response.json()).toMatchObject({
      success: false,
      result: null,
      messages: [],
      errors: [{ code: 10000 }],
    });
    const missing = await call("POST", "/instances/does-not-exist/search", question);
    expect([missing.status, missing.body.errors[0]?.code]).toEqual([404, 7002]);
  });

  it("survives anything that is sent to it", async () => {
    const bodies = [
      "",
      "null",
      "[]",
      '"x"',
      "{",
      '{"query":1}',
      '{"messages":[{}]}',
      `{"query":${"[".repeat(5000)}`,
      '{"__proto__":{}}',
      "\u00ff",
    ];
    for (const body of bodies) {
      for (const path of [
        "search",
        "chat/completions",
        "items",
        "jobs/x",
        "items/x/chunks?limit=-1",
        "items/%00",
      ]) {
        const response = await fetch(`${base}/instances/${id}/${path}`, {
          method: "POST",
          headers,
          body,
        });
        const text = await response.text();
        expect([400, 404, 405, 413], `${path} ${body} ${text}`).toContain(response.status);
        expect(JSON.parse(text)).toMatchObject({ success: false, result: null });
      }
    }
  });
});

describe("chat completions", () => {
  it("answer with the chunks that were used", async () => {
    const response = await fetch(`${base}/instances/${id}/chat/completions`, {
      method: "POST",
      headers,
      body: JSON.stringify(question),
    });
    expect(await response.json()).toMatchObject({
      object: "chat.completion",
      model: "builtin/extractive",
      choices: [
        {
          index: 0,
          message: {
            role: "assistant",
            content: expect.stringMatching(/\[1\]\n\nThe ferry leaves at noon\./),
          },
        },
      ],
      chunks: [{ item: { key: "ferry.md" } }],
    });
  });

  it("stream chunks, deltas and [DONE], in this order", async () => {
    const response = await fetch(`${base}/instances/${id}/chat/completions`, {
      method: "POST",
      headers,
      body: JSON.stringify({ ...question, stream: true }),
    });
    expect(response.headers.get("content-type")).toContain("text/event-stream");
    const blocks = (await response.text()).split("\n\n").filter((block) => block !== "");
    expect(blocks[0]).toMatch(/^event: chunks\ndata: \[\{/);
    expect(blocks.at(-1)).toBe("data: [DONE]");
    expect(blocks.length).toBeGreaterThan(3);
    for (const block of blocks.slice(1, -1))
      expect(JSON.parse(block.slice("data: ".length))).toMatchObject({
        object: "chat.completion.chunk",
      });
  });

  it("stay available when clients leave in the middle", async () => {
    const leave = (): Promise<void> =>
      new Promise((resolve) => {
        const url = new URL(`${base}/instances/${id}/chat/completions`);
        const sent = request(url, { method: "POST", headers }, (response) => {
          response.once("data", () => {
            response.destroy();
            resolve();
          });
        });
        sent.end(JSON.stringify({ ...question, stream: true }));
      });
    await Promise.all(Array.from({ length: 20 }, leave));
    expect((await call("POST", `/instances/${id}/search`, question)).status).toBe(200);
  });
});
