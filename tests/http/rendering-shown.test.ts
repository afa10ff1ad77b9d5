import { readFileSync } from "node:fs";
import { describe, expect, inject } from "vitest";
import { common } from "../../core/rendering/job/schema.ts";
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

/** The examples of fields, by the heading that they stand below: the first action of it is asked. */
const fields = readFileSync(`${root}docs/rendering/fields.md`, "utf8")
  .split(/^## /mu)
  .slice(1)
  .flatMap((section) => {
    const action = /^(?<name>\w+)/u.exec(section)?.groups?.["name"] ?? "";
    return [...section.matchAll(/^\| (?<named>`.*?)\s*\| `(?<body>\{.*?\})`\s*\|/gmu)].map(
      ({ groups = {} }) => ({
        name: action === "On" ? "content" : action,
        named: groups["named"] ?? "",
        body: groups["body"] ?? "",
      }),
    );
  });

describe("the examples of fields", () => {
  withBrowser("are there for every field that all actions have", () => {
    const shown = fields.flatMap(({ body }) => Object.keys(JSON.parse(body) as object));
    // The second spelling of a field, and lists that are the opposite of one that is shown.
    const others = ["goToOptions", "allowRequestPattern", "allowResourceTypes"];
    expect(Object.keys(common).filter((name) => !shown.includes(name))).toEqual(others);
  });

  for (const { name, named, body } of fields) {
    withBrowser(`work: ${name}, ${named}`, async () => {
      const page = { url: "https://example.com/", html };
      const answer = await render(name, { ...page, ...(JSON.parse(body) as object) });
      const text = await answer.text();
      // A Worker brings what it imports, and this one imports nothing that finds the main content.
      if (inject("target") === "workers" && named.includes("extract"))
        return expect([answer.status, text]).toEqual([
          503,
          expect.stringContaining("give rendering()"),
        ]);
      expect(text).not.toContain('"success":false');
      expect(answer.status).toBe(200);
    });
  }
});

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
