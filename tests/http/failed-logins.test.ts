import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { type IncomingMessage, request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { LONG } from "../cases/eventually.ts";
import { noBrowser, startTarget, targetName } from "./target.ts";

const token = "token-of-the-operator-0123456789";
const gatewayToken = "token-of-the-gateway-0123456789";
const folder = mkdtempSync(join(tmpdir(), "causey-logins-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

interface Answer {
  readonly status: number;
  readonly retryAfter: string | undefined;
}

/** A request from an address of this machine. */
interface Sender {
  readonly from?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

type Ask = (bearer: string, sender?: Sender) => Promise<Answer>;

async function send(
  url: string,
  method: string,
  headers: Record<string, string>,
  from: string,
): Promise<Answer> {
  // A connection of its own: kept ones belong to an address.
  const outgoing = request(url, { method, headers, localAddress: from, agent: false });
  outgoing.end();
  const [incoming] = (await once(outgoing, "response")) as [IncomingMessage];
  incoming.resume();
  await once(incoming, "end");
  return { status: incoming.statusCode ?? 0, retryAfter: incoming.headers["retry-after"] };
}

async function withServer(
  config: object,
  use: (api: Ask, gateway: Ask, output: () => string) => Promise<void>,
): Promise<void> {
  const file = join(folder, `${crypto.randomUUID()}.json`);
  const gateway = { gateways: { shut: { tokens: [gatewayToken] } } };
  writeFileSync(file, JSON.stringify({ gateway, ...config }));
  const server = await startTarget({
    args: ["--config", file],
    env: { ...noBrowser, CAUSEY_TOKEN: token },
  });
  const { url } = server;
  try {
    await use(
      (bearer, { from = "127.0.0.1", headers = {} } = {}) =>
        send(
          `${url}/client/v4/user/tokens/verify`,
          "GET",
          { ...headers, authorization: `Bearer ${bearer}` },
          from,
        ),
      (bearer, { from = "127.0.0.1", headers = {} } = {}) =>
        send(
          `${url}/v1/local/shut/echo/chat/completions`,
          "POST",
          { ...headers, "cf-aig-authorization": `Bearer ${bearer}` },
          from,
        ),
      () => server.output(),
    );
  } finally {
    await server.stop();
  }
}

/** Guesses at once: a failure comes back each second, so a slow machine must not send them one by one. */
async function guess(ask: Ask, count: number, sender?: (at: number) => Sender): Promise<Answer[]> {
  const answers: Answer[] = [];
  for (let sent = 0; sent < count; sent += 25) {
    const some = Array.from({ length: 25 }, (_, at) =>
      ask(`guess-${sent + at}-0123456789`, sender?.(sent + at)),
    );
    answers.push(...(await Promise.all(some)));
  }
  return answers;
}

const statuses = (answers: readonly Answer[]): number[] => [
  ...new Set(answers.map(({ status }) => status)),
];

describe(`failed logins on ${targetName()}`, () => {
  it("are limited for the address that they come from, and for no other", LONG, async () => {
    await withServer({}, async (api, gateway, output) => {
      expect((await api(token)).status).toBe(200);
      // Without `proxies` the header is the client's own word.
      const flood = await guess(api, 300, (at) => ({
        headers: { "x-forwarded-for": `203.0.113.${at % 250}`, "cf-connecting-ip": "203.0.113.9" },
      }));
      expect(statuses(flood)).toEqual([401, 429]);
      const refused = flood.filter(({ status }) => status === 429);
      expect(refused.map(({ retryAfter }) => Number(retryAfter))).not.toContain(Number.NaN);
      expect(statuses(await guess(gateway, 50))).toContain(429);
      expect(output()).toMatch(/"Too many failed logins","address":"127\.0\.0\.1"/);
      expect((await api(token)).status).toBe(200);

      const other = { from: "127.0.0.2" };
      expect(statuses(await guess(api, 25, () => other))).toEqual([401]);
      expect(statuses(await guess(gateway, 25, () => other))).toEqual([401]);
      expect((await api(token, other)).status).toBe(200);
    });
  });

  it("from many addresses shut out nobody with a valid token", LONG, async () => {
    await withServer({ proxies: 1 }, async (api, gateway, output) => {
      const by = (hop: string): Sender => ({ headers: { "x-forwarded-for": hop } });
      // 100 of each address, and more at once than come back while they are sent.
      await guess(api, 1300, (at) => by(`203.0.113.${Math.floor(at / 100)}`));
      await guess(gateway, 500, (at) => by(`198.51.100.${at % 250}`));
      const newcomer = by("192.0.2.1");
      expect((await api(token, newcomer)).status).toBe(200);
      // The token opens this gateway, and its provider is demo.
      expect((await gateway(gatewayToken, by("192.0.2.2"))).status).not.toBe(429);
      expect(output()).toMatch(/"Too many failed logins","address":"all together"/);
    });
  });

  it("are counted for the address that the last proxy tells", LONG, async () => {
    await withServer({ proxies: 1 }, async (api, gateway) => {
      const by = (hops: string): Sender => ({ headers: { "x-forwarded-for": hops } });
      expect(statuses(await guess(api, 300, () => by("203.0.113.1")))).toEqual([401, 429]);
      expect(statuses(await guess(api, 50, () => by("203.0.113.2, 203.0.113.1")))).toContain(429);
      expect(statuses(await guess(gateway, 50, () => by("203.0.113.1")))).toContain(429);
      const other = by("203.0.113.1, 203.0.113.2");
      expect(statuses(await guess(api, 25, () => other))).toEqual([401]);
      expect(statuses(await guess(gateway, 25, () => other))).toEqual([401]);
      expect((await api(token, other)).status).toBe(200);
    });
  });
});
