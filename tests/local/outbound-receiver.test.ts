import {
  createServer,
  type IncomingHttpHeaders,
  type Server,
  type ServerResponse,
} from "node:http";
import type { AddressInfo } from "node:net";
import { createHmac } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { LocalPlatformOptions } from "../../adapters/shared/local-platform.ts";
import { egressTransport } from "../../adapters/shared/egress/egress-transport.ts";
import type { Platform, Transport } from "../../core/ports.ts";
import { host } from "../config/shared.ts";
import { clockedOutbound, type ClockedOutbound } from "../fakes/webhooks-clock.ts";

interface Got {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

const got: Got[] = [];
const answers: Readonly<Record<string, (response: ServerResponse) => void>> = {
  "/moved": (response) => response.writeHead(302, { location: "/target" }).end(),
  "/long": (response) => {
    response.write("x".repeat(100_000));
    // It never ends by itself: who reads on waits for ever.
    response.once("close", () => response.end());
  },
  "/torn": (response) => {
    response.writeHead(200, { "content-length": "100" }).write("part");
    setTimeout(() => response.destroy(), 20);
  },
};

let receiver: Server;
let base = "";
const opened: Platform[] = [];

async function open(allowHosts: readonly string[], egress?: Transport): Promise<ClockedOutbound> {
  const adapter = (await import(`../../adapters/${host}/mod.ts`)) as Record<string, unknown>;
  const make = adapter[`${host}Platform`] as (o: LocalPlatformOptions) => Promise<Platform>;
  const platform = await make({ dataDir: ":memory:", allowHosts, log: () => undefined });
  opened.push(platform);
  return clockedOutbound(platform, egress ?? platform.egress, "real");
}

beforeAll(async () => {
  receiver = createServer((request, response) => {
    let body = "";
    request.setEncoding("utf8").on("data", (text: string) => (body += text));
    request.on("end", () => {
      const path = request.url ?? "";
      got.push({ path, headers: request.headers, body });
      const answer = answers[path];
      if (answer === undefined) response.end("thank you");
      else answer(response);
    });
  });
  await new Promise<void>((resolve) => receiver.listen(0, "127.0.0.1", resolve));
  base = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}`;
});
afterAll(async () => {
  for (const platform of opened) await platform.close();
  receiver.closeAllConnections();
  receiver.close();
});

interface Shown {
  readonly status: string;
  readonly attempts: number;
  readonly last_error: string | null;
  readonly log: readonly { readonly status: number | null; readonly body: string }[];
}

/** Sends one message to one new endpoint and shows what became of it after the first attempt. */
async function deliver(
  outbound: ClockedOutbound,
  url: string,
): Promise<Shown & { secret: string }> {
  const made = await outbound.api<{ id: string; secret: string }>("POST", "/endpoints", { url });
  const { id, secret } = made.result;
  const body = { type: "test", payload: { hello: "wörld" }, endpoint_id: id };
  await outbound.api("POST", "/send", body);
  await outbound.advance(1);
  const query = `/deliveries?endpoint_id=${id}`;
  const [delivery] = (await outbound.api<{ id: string }[]>("GET", query)).result;
  const { result } = await outbound.api<Shown>("GET", `/deliveries/${delivery?.id}`);
  return { ...result, secret };
}

describe("an outbound webhook over the network", () => {
  let outbound: ClockedOutbound;
  beforeAll(async () => {
    outbound = await open(["127.0.0.1", "does-not-exist.invalid"]);
  });

  it("arrives byte for byte as it was signed", async () => {
    const { log, secret, status } = await deliver(outbound, `${base}/plain`);
    expect(status).toBe("delivered");
    expect(log).toMatchObject([{ status: 200, body: "thank you" }]);
    const [{ body, headers }] = got.filter(({ path }) => path === "/plain") as [Got];
    const content = `${String(headers["webhook-id"])}.${String(headers["webhook-timestamp"])}.${body}`;
    const key = Buffer.from(secret.slice("whsec_".length), "base64");
    const expected = createHmac("sha256", key).update(content).digest("base64");
    expect(headers["webhook-signature"]).toBe(`v1,${expected}`);
    expect(body).toBe('{"hello":"wörld"}');
  });

  it("does not follow a redirect: it is a failure", async () => {
    const shown = await deliver(outbound, `${base}/moved`);
    expect(shown).toMatchObject({ status: "pending", last_error: "The endpoint answered 302" });
    expect(got.filter(({ path }) => path === "/target")).toEqual([]);
  });

  it("reads 8 KiB of an answer and leaves the rest", async () => {
    const { log, status } = await deliver(outbound, `${base}/long`);
    expect(status).toBe("delivered");
    expect(log[0]?.body).toBe("x".repeat(8192));
  });

  it("tries again after an answer that breaks off", async () => {
    expect(await deliver(outbound, `${base}/torn`)).toMatchObject({
      status: "pending",
      attempts: 1,
    });
  });

  it("tries again when nobody listens or the name is unknown", async () => {
    for (const url of ["http://127.0.0.1:9/", "http://does-not-exist.invalid/"]) {
      expect(await deliver(outbound, url)).toMatchObject({ status: "pending", attempts: 1 });
    }
  });

  it("to a name of this machine never leaves, and is not tried again", async () => {
    const loopback = { address: "127.0.0.1", family: 4 } as const;
    const guarded = await open([], egressTransport({ resolve: () => Promise.resolve([loopback]) }));
    const before = got.length;
    const { port } = new URL(base);
    expect(await deliver(guarded, `http://receiver.example:${port}/guarded`)).toMatchObject({
      status: "dead",
      attempts: 1,
    });
    expect(got).toHaveLength(before);
  });
});
