import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { eventually } from "../cases/eventually.ts";
import { startTarget, type Target } from "./target.ts";

const token = inject("token");
const account = inject("accountId");
const secret = "Bearer s3cret-of-the-site";

interface Answer {
  readonly status: number;
  readonly text: string;
  readonly result: Record<string, unknown> & readonly Record<string, unknown>[];
}

const listening = async (server: Server): Promise<string> => {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
};

describe("a website with a login as the source of an instance", () => {
  const asked: { readonly from: string; readonly url: string; readonly login: string }[] = [];
  const note = (from: string, { url = "", headers }: IncomingMessage): void =>
    void asked.push({ from, url, login: headers.authorization ?? "" });
  const away = createServer((request, response) => {
    note("away", request);
    response.writeHead(200, { "content-type": "text/html" }).end("<h1>Away</h1>");
  });
  const site = createServer((request, response) => {
    note("site", request);
    const { url } = request;
    const html = { "content-type": "text/html" };
    if (request.headers.authorization !== secret) response.writeHead(401, html).end("<p>no");
    else if (url === "/map.xml")
      response.end(
        `<urlset>${["/ferry", "/leave"].map((path) => `<url><loc>http://${siteAt}${path}</loc></url>`).join("")}</urlset>`,
      );
    else if (url === "/leave") response.writeHead(302, { location: `http://${awayAt}/` }).end();
    else if (url === "/robots.txt") response.writeHead(404, html).end();
    else
      response
        .writeHead(200, html)
        .end("<title>T</title><nav>All pages</nav><main>The ferry leaves at noon.</main>");
  });
  let siteAt = "";
  let awayAt = "";
  let folder = "";
  let target: Target;

  beforeAll(async () => {
    siteAt = await listening(site);
    awayAt = await listening(away);
    folder = mkdtempSync(join(tmpdir(), "causey-site-"));
    const config = join(folder, "causey.json");
    const rendering = { allowHosts: [siteAt, awayAt], crawls: { delayMs: 0 } };
    writeFileSync(config, JSON.stringify({ rendering }));
    target = await startTarget({
      args: ["--account-id", account, "--config", config],
      env: { CAUSEY_TOKEN: token },
    });
  });

  afterAll(async () => {
    await target?.stop();
    for (const server of [site, away]) {
      server.closeAllConnections();
      server.close();
    }
    rmSync(folder, { recursive: true, force: true });
  });

  const call = async (method: string, path: string, body?: object): Promise<Answer> => {
    const root = `${target.url}/client/v4/accounts/${account}/ai-search/instances`;
    const response = await fetch(`${root}${path}`, {
      method,
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      body: body === undefined ? null : JSON.stringify(body),
    });
    const text = await response.text();
    const { result } = JSON.parse(text) as Pick<Answer, "result">;
    return { status: response.status, text, result };
  };

  it("is read by its headers, which no answer shows and no other origin gets", async () => {
    const made = await call("POST", "", {
      id: "intranet",
      type: "web-crawler",
      source: `http://${siteAt}`,
      source_params: {
        web_crawler: {
          parse_options: {
            include_headers: { Authorization: secret },
            specific_sitemaps: ["/map.xml"],
            content_selector: [{ path: "**/ferry", selector: "main" }],
          },
        },
      },
    });
    expect([made.status, made.text]).toEqual([200, expect.stringContaining("********")]);
    await eventually(async () => {
      const { result } = await call("GET", "/intranet/jobs");
      return result[0]?.["ended_at"] !== undefined;
    }, "the end of the first job");
    const { result: items } = await call("GET", "/intranet/items");
    const ferry = items.find(({ key }) => key === `http://${siteAt}/ferry`);
    expect(ferry).toMatchObject({ status: "completed" });
    const { result: chunks } = await call("GET", `/intranet/items/${String(ferry?.["id"])}/chunks`);
    expect(chunks.map(({ text }) => text)).toEqual(["# T\n\nThe ferry leaves at noon."]);
    expect(asked.filter(({ from, login }) => from === "site" && login !== secret)).toEqual([]);
    expect(asked.filter(({ from, login }) => from === "away" && login !== "")).toEqual([]);
    for (const path of ["/intranet", "", "/intranet/jobs"])
      expect((await call("GET", path)).text).not.toMatch(/s3cret|sealed/u);
  });
});
