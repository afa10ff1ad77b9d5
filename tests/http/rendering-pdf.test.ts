import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { pdf } from "../fakes/search-documents.ts";
import { startTarget, targetName, type Target } from "./target.ts";

const token = "pdf-test-token-0123456789";
const account = inject("accountId");

interface Answer {
  readonly result: string | null;
  readonly errors: readonly { readonly code: number; readonly message: string }[];
  readonly meta?: Readonly<Record<string, unknown>>;
}

describe("a url that is a PDF", () => {
  const report = pdf("The first page", "The second page");
  const cookies: string[] = [];
  const asked: string[] = [];
  const site = createServer(({ url: path = "", headers }, response) => {
    cookies.push(headers.cookie ?? "");
    asked.push(path);
    // The browser gets the PDF, and the server that reads it is sent elsewhere.
    if (path === "/flip" && asked.filter((one) => one === path).length > 1)
      return void response.writeHead(302, { location: "/elsewhere" }).end();
    response.writeHead(200, { "content-type": "application/pdf" }).end(report);
  });
  let url = "";
  let folder = "";
  let target: Target;

  beforeAll(async () => {
    await new Promise<void>((resolve) => site.listen(0, "127.0.0.1", resolve));
    const { port } = site.address() as AddressInfo;
    url = `http://127.0.0.1:${port}/report`;
    folder = mkdtempSync(join(tmpdir(), "causey-pdf-"));
    const config = join(folder, "causey.json");
    writeFileSync(config, JSON.stringify({ rendering: { allowHosts: [`127.0.0.1:${port}`] } }));
    target = await startTarget({
      args: ["--account-id", account, "--config", config],
      env: { CAUSEY_TOKEN: token },
    });
  });

  afterAll(async () => {
    await target?.stop();
    site.closeAllConnections();
    site.close();
    rmSync(folder, { recursive: true, force: true });
  });

  const send = (name: string, body: object): Promise<Response> =>
    fetch(`${target.url}/client/v4/accounts/${account}/browser-rendering/${name}?cacheTTL=0`, {
      method: "POST",
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      body: JSON.stringify({ url, ...body }),
    });
  const ask = async (name: string, body: object): Promise<Answer & { status: number }> => {
    const response = await send(name, body);
    return { ...((await response.json()) as Answer), status: response.status };
  };
  /** With a browser, where there is one, and without. */
  const ways = async (): Promise<object[]> => {
    const probe = await ask("content", { url: undefined, html: "<p>probe</p>" });
    return probe.status === 503 ? [{ render: false }] : [{}, { render: false }];
  };

  it("is read as Markdown where the server reads PDFs, and refused with the reason elsewhere", async () => {
    for (const way of await ways()) {
      const answer = await ask("markdown", way);
      if (targetName() === "workers") {
        expect([answer.status, answer.errors[0]?.code]).toEqual([422, 5002]);
        expect(answer.errors[0]?.message).toContain("PDF");
        continue;
      }
      expect(answer).toMatchObject({
        status: 200,
        result: "## Page 1\n\nThe first page\n\n## Page 2\n\nThe second page",
        meta: { finalUrl: url, document: { type: "application/pdf", pages: 2 } },
      });
    }
  });

  it("is passed on by /pdf, with the caller's cookies", async () => {
    for (const way of await ways()) {
      const isStatic = "render" in way;
      const answer = await send(
        "pdf",
        isStatic ? way : { cookies: [{ name: "a", value: "b", url }] },
      );
      expect([answer.status, answer.headers.get("content-type")]).toEqual([200, "application/pdf"]);
      expect(new Uint8Array(await answer.arrayBuffer())).toEqual(report);
      if (!isStatic) expect(cookies.at(-1)).toBe("a=b");
    }
  });

  it("is loaded again by the caller's rules", async () => {
    if ((await ways()).length < 2) return;
    const flip = { url: url.replace("/report", "/flip"), rejectRequestPattern: ["/elsewhere"] };
    const { status, errors } = await ask("pdf", flip);
    expect([status, errors[0]?.code]).toEqual([400, 5010]);
    expect(asked.filter((path) => path === "/flip")).toHaveLength(2);
    expect(asked).not.toContain("/elsewhere");
  });

  it("is no picture", async () => {
    if ((await ways()).length < 2) return;
    const { status, errors } = await ask("screenshot", {});
    expect([status, errors[0]?.code]).toEqual([422, 5002]);
    expect(errors[0]?.message).toBe("The URL is a PDF, not a page");
  });
});
