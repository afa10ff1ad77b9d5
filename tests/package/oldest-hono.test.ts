import { spawnSync } from "node:child_process";
import { cpSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { LONG } from "../cases/eventually.ts";
import { root } from "../config/shared.ts";
import { packClone, type Packed } from "./packed.ts";

let packed: Packed;
beforeAll(() => {
  packed = packClone();
}, LONG.timeout);
afterAll(() => rmSync(packed.folder, { recursive: true, force: true }));

/** A host with a page, middleware that reads bodies, and errors of its own; the gateway and the whole API beside it. */
const program = `
import { platformApi } from "causey";
import { gateway } from "causey/gateway";
import { nodePlatform } from "causey/node";
import { Hono } from "hono";
const platform = await nodePlatform({ dataDir: ":memory:" });
const gateways = { open: { authentication: false } };
const app = new Hono();
app.use("/llm/*", async (c, next) => {
  await c.req.json();
  await next();
});
app.get("/", (c) => c.text("the host's page"));
app.get("/boom", () => Promise.reject(new TypeError("the host's bug")));
app.notFound((c) => c.text("the host's 404", 404));
app.onError((error, c) => c.text(error.message, 500));
app.route("/llm", gateway({ platform, demo: true, gateways }));
app.mount("/api", platformApi({ platform, accountId: "a", auth: "off", gateway: { gateways } }).fetch);
const said = [];
for (const path of ["/", "/nowhere", "/boom", "/api/healthz", "/api/client/v4/nowhere"]) {
  const answer = await app.request(path);
  said.push([answer.status, path.startsWith("/api") ? "" : await answer.text()]);
}
const body = JSON.stringify({ model: "echo", messages: [{ role: "user", content: "Hello" }] });
const chat = await app.request("/llm/v1/a/open/echo/chat/completions", {
  method: "POST",
  headers: { "content-type": "application/json" },
  body,
});
said.push([chat.status, await chat.text()]);
console.log(JSON.stringify(said));
await platform.close();
`;

/** The newest is the one that every other test runs with. */
test("the oldest Hono of the peer range carries a host with causey in it", () => {
  const oldest = `${root}tools/releases/node_modules/hono-oldest`;
  const { version } = JSON.parse(readFileSync(`${oldest}/package.json`, "utf8")) as {
    version: string;
  };
  const { peerDependencies } = JSON.parse(readFileSync(`${root}package.json`, "utf8")) as {
    peerDependencies: { hono: string };
  };
  expect(peerDependencies.hono).toBe(`^${version}`);
  const installed = join(packed.project, "node_modules/hono");
  rmSync(installed, { recursive: true, force: true });
  cpSync(oldest, installed, { recursive: true });
  const { stdout, stderr } = spawnSync(process.execPath, ["--input-type=module", "-e", program], {
    cwd: packed.project,
    encoding: "utf8",
  });
  expect(stderr).toBe("");
  expect(JSON.parse(stdout)).toEqual([
    [200, "the host's page"],
    [404, "the host's 404"],
    [500, "the host's bug"],
    [200, ""],
    [404, ""],
    [200, expect.stringContaining('"content":"Hello"')],
  ]);
});
