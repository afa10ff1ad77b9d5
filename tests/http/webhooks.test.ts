import { createHmac } from "node:crypto";
import { request } from "node:http";
import { describe, expect, inject, it } from "vitest";
import { eventually } from "../cases/eventually.ts";
import { webhookSecrets } from "./prepare-target.ts";

const baseUrl = inject("baseUrl");
const authorization = `Bearer ${inject("token")}`;
const api = `${baseUrl}/client/v4/accounts/${inject("accountId")}/webhooks`;

const signature = (body: string | Uint8Array): string =>
  `sha256=${createHmac("sha256", webhookSecrets.generic).update(body).digest("hex")}`;

function post(
  body: string | Uint8Array<ArrayBuffer>,
  headers: Record<string, string> = {},
  path = "/generic",
): Promise<Response> {
  return fetch(`${baseUrl}/webhooks${path}`, {
    method: "POST",
    body,
    headers: { "x-signature": signature(body), ...headers },
  });
}

interface Page {
  readonly result: readonly { readonly entity: string }[];
  readonly result_info: { readonly cursor: string | null };
}

interface Answer {
  readonly status: number;
  readonly body: { readonly result: unknown };
}

async function manage(method: string, path: string, body?: unknown): Promise<Answer> {
  const init = body === undefined ? {} : { body: JSON.stringify(body) };
  const response = await fetch(`${api}${path}`, { method, headers: { authorization }, ...init });
  return { status: response.status, body: (await response.json()) as Answer["body"] };
}

async function statusOf(response: Promise<Response>): Promise<number> {
  const { status, body } = await response;
  await body?.cancel();
  return status;
}

describe("POST /webhooks/…", () => {
  it("stores one of many concurrent deliveries and answers every sender 200", async () => {
    const body = JSON.stringify({ entity: "http-dup", event_id: "one", type: "ping" });
    const statuses = await Promise.all(Array.from({ length: 10 }, () => statusOf(post(body))));
    expect(statuses).toEqual(Array<number>(10).fill(200));
    expect((await manage("GET", "/events?entity=http-dup")).body.result).toHaveLength(1);
  });

  it.each(["..", "%2e%2e", "."])("takes no entity %s, which is another path", async (name) => {
    const body = JSON.stringify({ entity: "..", event_id: "dots" });
    const options = { method: "POST", headers: { "x-signature": signature(body) }, agent: false };
    const status = await new Promise<number | undefined>((resolve, reject) => {
      const { hostname, port } = new URL(baseUrl);
      // `fetch` would resolve the segment before it sends it.
      const path = `/webhooks/generic/${name}`;
      const outgoing = request({ ...options, hostname, port, path }, (response) => {
        response.resume();
        resolve(response.statusCode);
      });
      outgoing.on("error", reject).end(body);
    });
    expect([400, 404]).toContain(status);
    expect(await statusOf(post(body))).toBe(400);
  });

  it("verifies bytes that are no UTF-8 before it refuses them", async () => {
    const bytes = Uint8Array.from([0xff, 0xfe, 0x7b]);
    expect(await statusOf(post(bytes))).toBe(400);
    expect(await statusOf(post(bytes, { "x-signature": signature("{}") }))).toBe(401);
  });

  it("counts a body that says nothing of its length and refuses it at the cap", async () => {
    // A connection of its own: the server may end it, since the rest of the body is never read. A port in front of
    // several servers may lose the answer then.
    const attempt = (): Promise<number | undefined> =>
      new Promise((resolve) => {
        const outgoing = request(`${baseUrl}/webhooks/generic`, { method: "POST", agent: false });
        outgoing.on("response", (response) => {
          response.resume();
          resolve(response.statusCode);
          outgoing.destroy();
        });
        const lost = (): void => {
          resolve(undefined);
        };
        outgoing.on("error", lost).on("close", lost);
        for (let i = 0; i < 40; i++) outgoing.write(new Uint8Array(64 * 1024));
      });
    let status = await attempt();
    for (let more = 0; more < 8 && status === undefined; more++) status = await attempt();
    expect(status).toBe(413);
  });

  it("answers each failure with its status and the error envelope", async () => {
    const body = JSON.stringify({ entity: "http-errors" });
    const cases: readonly [number, Promise<Response>][] = [
      [401, fetch(`${baseUrl}/webhooks/generic`, { method: "POST", body })],
      [401, post(body, { "x-signature": signature(body).toUpperCase() })],
      [401, post(body, { "x-signature": "x".repeat(8000) })],
      [400, post("{}")],
      [400, post("nonsense")],
      [400, post(body, {}, "/generic/another-entity")],
      [404, post(body, {}, "/nobody/x")],
      [405, fetch(`${baseUrl}/webhooks/generic`, { method: "DELETE" })],
    ];
    for (const [status, pending] of cases) {
      const response = await pending;
      const { success, errors } = (await response.json()) as {
        success: boolean;
        errors: { message: string }[];
      };
      expect([response.status, success]).toEqual([status, false]);
      expect(errors[0]?.message).toMatch(/^[A-Z].*[^.]$/);
      if (status === 405) expect(response.headers.get("allow")).toBe("POST");
    }
  });
});

describe("GET …/webhooks/entities", () => {
  it("lists entities of a source, a page at a time", async () => {
    const entities = ["http-list-1", "http-list-2", "http-list-3"];
    for (const entity of entities) {
      const body = JSON.stringify({ entity, event_id: "one", type: "ping" });
      expect(await statusOf(post(body))).toBe(200);
    }
    const listed = async (): Promise<string[]> => {
      const found: string[] = [];
      for (let cursor: string | null = ""; cursor !== null;) {
        const path: string = `/entities?source=generic&limit=2${cursor && `&cursor=${cursor}`}`;
        const { body } = await manage("GET", path);
        const { result, result_info } = body as Page;
        found.push(...result.map(({ entity }) => entity));
        cursor = result_info.cursor;
      }
      return found.filter((entity) => entity.startsWith("http-list-")).toSorted();
    };
    await eventually(async () => (await listed()).length === 3, "all three are listed");
    expect(await listed()).toEqual(entities);
    for (const list of ["entities", "failures", "dead-letters"]) {
      expect(await statusOf(fetch(`${api}/${list}`))).toBe(401);
      expect((await manage("GET", `/${list}?cursor=x`)).status).toBe(400);
      expect((await manage("GET", `/${list}?source=nobody`)).body.result).toEqual([]);
    }
  });
});

describe("…/webhooks/replays", () => {
  it("are made, followed, listed and cancelled", async () => {
    const body = JSON.stringify({ entity: "http-replayed", event_id: "one", type: "ping" });
    expect(await statusOf(post(body))).toBe(200);
    const listed = async (): Promise<string> =>
      JSON.stringify((await manage("GET", "/entities?source=generic&limit=100")).body.result);
    await eventually(async () => (await listed()).includes("http-replayed"), "it is listed");
    const filter = { of: "events", entity: "http-replayed", since: "2020-01-01" };
    const made = await manage("POST", "/replays", filter);
    expect(made.status).toBe(202);
    const { id } = made.body.result as { readonly id: string };
    await eventually(async () => {
      const { result } = (await manage("GET", `/replays/${id}`)).body;
      return (result as { readonly status: string }).status === "completed";
    }, "it is completed");
    // The agent of these events has no handler that could run again.
    const whole = { id, of: "events", entities: 1, done: 1, failed: 0, queued: 0 };
    expect((await manage("GET", `/replays/${id}`)).body.result).toMatchObject(whole);
    expect((await manage("GET", "/replays")).body.result).toContainEqual(
      expect.objectContaining({ id, status: "completed" }),
    );
    const late = await manage("POST", `/replays/${id}/cancel`);
    expect(late).toMatchObject({ status: 200, body: { result: { status: "completed" } } });
    const one = await manage("POST", "/events/one/replay?entity=http-replayed&source=generic");
    expect(one.status).toBe(409);
  });

  it("refuse what they do not know, and callers without a token", async () => {
    expect((await manage("GET", "/replays/nobody")).status).toBe(404);
    expect((await manage("POST", "/replays/nobody/cancel")).status).toBe(404);
    expect((await manage("POST", "/events/nobody/replay?entity=nobody")).status).toBe(404);
    expect((await manage("POST", "/dead-letters/nobody/replay?entity=nobody")).status).toBe(404);
    for (const bad of [{}, { of: "all" }, { of: "events", sorce: "x" }, { of: "events", since: 1 }])
      expect((await manage("POST", "/replays", bad)).status).toBe(400);
    expect(await statusOf(fetch(`${api}/replays`))).toBe(401);
    expect(await statusOf(fetch(`${api}/replays`, { method: "POST", body: "{}" }))).toBe(401);
    expect(await statusOf(fetch(`${api}/replays/x/cancel`, { method: "POST" }))).toBe(401);
  });
});

describe("outbound webhooks", () => {
  it("refuse addresses of this machine when an endpoint is made, and say so", async () => {
    const url = `${baseUrl}/healthz`;
    const made = await manage("POST", "/endpoints", { url, types: ["ssrf"] });
    expect(made.status).toBe(400);
    expect(JSON.stringify(made.body)).toContain(
      `url: The host \\"${new URL(url).hostname}\\" is not`,
    );
  });

  it("are managed with a token only", async () => {
    expect(await statusOf(fetch(`${api}/endpoints`))).toBe(401);
    expect(await statusOf(fetch(`${api}/events?entity=x`))).toBe(401);
    expect((await manage("GET", "/events")).status).toBe(400);
    expect((await manage("GET", "/deliveries/nobody")).status).toBe(404);
  });
});
