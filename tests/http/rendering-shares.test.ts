import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, inject } from "vitest";
import { eventually } from "../cases/eventually.ts";
import { type Answer, post, withBrowser } from "./render-client.ts";
import { startTarget, type Target } from "./target.ts";

const token = inject("token");
const account = inject("accountId");

describe("two tokens of one account", () => {
  let site: Server;
  let target: Target;
  let folder: string;
  let origin = "";
  /** Pages that the site has not answered. */
  let held = 0;
  const tokens: string[] = [];

  const api = async (path: string, body?: object): Promise<{ [name: string]: string }[]> => {
    const response = await fetch(`${target.url}/client/v4${path}`, {
      method: body === undefined ? "GET" : "POST",
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const { result } = (await response.json()) as { result: { [name: string]: string }[] };
    return [result].flat();
  };

  const makeToken = async (): Promise<string> => {
    const name = encodeURIComponent("Browser Rendering Edit");
    const [group] = await api(`/user/tokens/permission_groups?name=${name}`);
    const [made] = await api(`/accounts/${account}/tokens`, {
      name: "a share",
      policies: [
        {
          effect: "allow",
          permission_groups: [{ id: group?.["id"] }],
          resources: { [`com.cloudflare.api.account.${account}`]: "*" },
        },
      ],
    });
    return made?.["value"] ?? "";
  };

  beforeAll(async () => {
    site = createServer((request, response) => {
      if (request.url?.startsWith("/held") === true) held += 1;
      else response.writeHead(200, { "content-type": "text/html" }).end("<p>page");
    });
    await new Promise<void>((resolve) => site.listen(0, "127.0.0.1", resolve));
    origin = `http://127.0.0.1:${(site.address() as AddressInfo).port}`;
    folder = mkdtempSync(join(tmpdir(), "causey-shares-"));
    const config = join(folder, "causey.json");
    writeFileSync(config, JSON.stringify({ rendering: { allowHosts: [new URL(origin).host] } }));
    target = await startTarget({
      args: ["--account-id", account, "--config", config],
      env: { CAUSEY_TOKEN: token },
    });
    tokens.push(await makeToken(), await makeToken(), await makeToken());
  });

  afterAll(async () => {
    site?.closeAllConnections();
    site?.close();
    await target?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  const as = (who: number, name: string, body: object, signal?: AbortSignal): Promise<Answer> =>
    post(
      `browser-rendering/${name}`,
      body,
      {
        headers: { authorization: `Bearer ${tokens[who]}`, "content-type": "application/json" },
        ...(signal === undefined ? {} : { signal }),
      },
      target.url,
    );

  withBrowser("share the places of the browser and its queue", async () => {
    const leave = new AbortController();
    const slow = Array.from({ length: 30 }, (_, n) =>
      as(0, "content", { url: `${origin}/held/${n}` }, leave.signal).then(
        ({ status }) => status,
        () => 0,
      ),
    );
    await eventually(() => held >= 2, "two pages load");
    // As many as run and wait; the rest is refused.
    const refused = (): Promise<number> =>
      Promise.all(slow.map((one) => Promise.race([one, Promise.resolve(null)]))).then(
        (all) => all.filter((status) => status === 429).length,
      );
    await eventually(async () => (await refused()) === 8, "eight of thirty are refused");
    for (const who of [1, 2, 1])
      for (const [name, body] of [
        ["content", { url: `${origin}/page` }],
        ["pdf", { html: "<h1>Bill</h1>" }],
        ["screenshot", { html: "<img src='data:,x'>" }],
        ["markdown", { html: "<p>x" }],
      ] as const) {
        const answer = await as(who, name, body);
        expect([answer.status, answer.body.errors?.[0]?.message], name).toEqual([200, undefined]);
      }
    // Whoever fills the queue is refused still.
    const more = await as(0, "content", { url: `${origin}/held/more` });
    expect([more.status, more.headers.get("retry-after")]).toEqual([429, "5"]);
    leave.abort();
    await Promise.all(slow);
  });
});
