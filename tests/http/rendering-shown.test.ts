import { readFileSync } from "node:fs";
import { describe, expect, inject } from "vitest";
import { itUnless } from "../config/it-unless.ts";
import { root } from "../config/shared.ts";

const base = inject("baseUrl");
const token = inject("token");
const account = inject("accountId");

function render(name: string, body: object): Promise<Response> {
  return fetch(`${base}/client/v4/accounts/${account}/browser-rendering/${name}`, {
    method: "POST",
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    body: JSON.stringify(body),
  });
}

const html =
  '<title>T</title><nav>Menu</nav><main><h1>Hi</h1><a href="/own">own</a><a href="https://other.example/">o</a></main>';
const probe = await render("content", { html });
const withBrowser = itUnless(probe.status === 503 ? "there is no browser" : undefined);

/** The bodies of the document's examples, by their actions. */
const examples = [
  ...readFileSync(`${root}docs/rendering.md`, "utf8").matchAll(
    /^\| `(?<name>\w+)`\s*\| `(?<body>\{.*?\})`\s*\|/gmu,
  ),
].map(({ groups = {} }) => [groups["name"] ?? "", groups["body"] ?? ""] as const);

/** What the answer to each has, of the page above. */
const answers: Readonly<Record<string, unknown>> = {
  markdown: expect.not.stringContaining("Menu"),
  content: expect.stringContaining("<h1>Hi</h1>"),
  links: ["https://example.com/own"],
  scrape: [
    { selector: "h1", results: [expect.objectContaining({ text: "Hi" })] },
    expect.objectContaining({ selector: "a[href]" }),
  ],
  snapshot: { screenshot: expect.any(String), markdown: expect.stringContaining("# Hi") },
  accessibilityTree: { accessibilityTree: expect.objectContaining({ role: "main" }) },
};
const types: Readonly<Record<string, string>> = {
  pdf: "application/pdf",
  screenshot: "image/webp",
};

describe("the examples of the document", () => {
  withBrowser("are there for each action of one page", () => {
    expect(examples.map(([name]) => name)).toEqual(
      expect.arrayContaining([...Object.keys(answers), ...Object.keys(types)]),
    );
  });

  for (const [name, text] of examples) {
    withBrowser(`work: ${name}`, async () => {
      const body: object = JSON.parse(text);
      // A page at that address, which is not loaded.
      const answer = await render(name, { ...body, html });
      const type = types[name];
      expect(answer.status).toBe(200);
      if (type !== undefined) return expect(answer.headers.get("content-type")).toBe(type);
      expect((await answer.json()) as unknown).toMatchObject({ result: answers[name] });
    });
  }
});
