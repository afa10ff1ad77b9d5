import { createHmac } from "node:crypto";
import { describe, expect, inject, it } from "vitest";
import { webhookSecrets } from "./prepare-target.ts";

const baseUrl = inject("baseUrl");
const token = inject("token");

async function event(entity: string, id: string): Promise<number> {
  const body = JSON.stringify({ entity, event_id: id, type: "ping" });
  const signature = createHmac("sha256", webhookSecrets.generic).update(body).digest("hex");
  const headers = { "x-signature": `sha256=${signature}` };
  const response = await fetch(`${baseUrl}/webhooks/generic`, { method: "POST", body, headers });
  await response.body?.cancel();
  return response.status;
}

type Frame = { readonly type: string; readonly [key: string]: unknown };

/** A plain WebSocket and its frames, one at a time. */
function socket(path: string): {
  next: () => Promise<Frame>;
  send: (frame: unknown) => void;
  close: () => void;
} {
  const ws = new WebSocket(`${baseUrl.replace(/^http/, "ws")}/agents${path}`);
  const frames: Frame[] = [];
  let wake = (): void => undefined;
  ws.addEventListener("message", ({ data }) => {
    frames.push(JSON.parse(String(data)) as Frame);
    wake();
  });
  return {
    send: (frame) => {
      ws.send(JSON.stringify(frame));
    },
    close: () => {
      ws.close();
    },
    async next() {
      for (;;) {
        const frame = frames.shift();
        if (frame !== undefined) return frame;
        await new Promise<void>((resolve) => (wake = resolve));
      }
    },
  };
}

describe("GET /agents/{class}/{name} as a WebSocket", () => {
  it("is greeted with identity, state and servers, in this order", async () => {
    const one = socket(`/webhook-agent/frames?token=${token}`);
    const types = [(await one.next()).type, (await one.next()).type, (await one.next()).type];
    expect(types).toEqual(["cf_agent_identity", "cf_agent_state", "cf_agent_mcp_servers"]);
    one.close();
  });

  it("resumes the event feed from ?since= and goes on live", async () => {
    for (const id of ["a", "b", "c"]) expect(await event("since", id)).toBe(200);
    const one = socket(`/webhook-agent/since?token=${token}&since=1`);
    const seen: unknown[] = [];
    let last: Promise<number> | undefined;
    while (seen.length < 3) {
      const frame = await one.next();
      if (frame.type === "event") seen.push(frame["seq"]);
      if (seen.length === 2) last ??= event("since", "d");
    }
    expect(seen).toEqual([2, 3, 4]);
    expect(await last).toBe(200);
    one.close();
  });

  it.each([
    ["A frame has more than 50000 lists and objects", [Array.from({ length: 200_000 }, () => [])]],
    ["A call has more than 1000 arguments", Array.from({ length: 199_000 }, () => 1)],
  ])("closes on a frame with too much in it, and says what: %s", async (excess, args) => {
    const ws = new WebSocket(
      `${baseUrl.replace(/^http/, "ws")}/agents/webhook-agent/excess?token=${token}`,
    );
    const closed = new Promise<CloseEvent>((resolve) => {
      ws.addEventListener("close", resolve);
    });
    await new Promise((resolve) => {
      ws.addEventListener("open", resolve);
    });
    ws.send(JSON.stringify({ type: "rpc", id: "1", method: "none", args }));
    const { code, reason } = await closed;
    expect([code, reason]).toEqual([1009, excess]);
  });
});

describe("the token of a connection", () => {
  const api = `${baseUrl}/client/v4/accounts/local/tokens`;
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };

  async function newToken(): Promise<{ readonly id: string; readonly value: string }> {
    const groups = await fetch(`${baseUrl}/client/v4/user/tokens/permission_groups`, { headers });
    const { result } = (await groups.json()) as { result: { id: string; name: string }[] };
    const id = result.find(({ name }) => name === "Agents Read")?.id;
    const resources = { "com.cloudflare.api.account.local": "*" };
    const policies = [{ effect: "allow", permission_groups: [{ id }], resources }];
    const body = JSON.stringify({ name: "visitor", policies });
    const made = await fetch(api, { method: "POST", headers, body });
    return ((await made.json()) as { result: { id: string; value: string } }).result;
  }

  it("closes it once it is deleted, and no other", async () => {
    const made = await newToken();
    const address = `${baseUrl.replace(/^http/, "ws")}/agents/webhook-agent/reviewed`;
    const [deleted, kept] = [made.value, token].map(
      (one) => new WebSocket(`${address}?token=${one}`),
    );
    await Promise.all(
      [deleted!, kept!].map((ws) => new Promise((resolve) => ws.addEventListener("open", resolve))),
    );
    const closed = new Promise<CloseEvent>((resolve) => {
      deleted!.addEventListener("close", resolve);
    });
    // workerd sends the close frame at once, but keeps the TCP connection of a client that has never sent a frame, and
    // Node's client reports the close only when that ends.
    deleted!.send("ping");
    const gone = await fetch(`${api}/${made.id}`, { method: "DELETE", headers });
    expect(gone.status).toBe(200);
    const { code, reason } = await closed;
    expect(code).toBe(1008);
    expect(reason).toContain("may not read this agent any longer");
    expect(kept!.readyState).toBe(WebSocket.OPEN);
    kept!.close();
  });
});

describe("GET /agents/{class}/{name}/events", () => {
  const url = `${baseUrl}/agents/webhook-agent/stream/events`;
  const headers = { authorization: `Bearer ${token}` };

  it("streams stored and new events with their seq as id", async () => {
    for (const id of ["a", "b"]) expect(await event("stream", id)).toBe(200);
    const stop = new AbortController();
    const response = await fetch(url, {
      headers: { ...headers, "last-event-id": "1" },
      signal: stop.signal,
    });
    expect(response.headers.get("content-type")).toBe("text/event-stream; charset=utf-8");
    const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
    let text = "";
    while (!text.includes("id: 2\n")) text += (await reader.read()).value ?? "";
    expect(await event("stream", "c")).toBe(200);
    while (!/id: 3\ndata: .*\n\n/.test(text)) text += (await reader.read()).value ?? "";
    expect(text.match(/^id: .*$/gm)).toEqual(["id: 2", "id: 3"]);
    stop.abort();
    // workerd notices at its next write, and would wait for the stream when it is asked to stop.
    expect(await event("stream", "d")).toBe(200);
  });

  it("asks for a token", async () => {
    const response = await fetch(url);
    expect(response.status).toBe(401);
    await response.body?.cancel();
  });
});
