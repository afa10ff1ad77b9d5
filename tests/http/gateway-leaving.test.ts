import { request as httpRequest } from "node:http";
import { randomUUID } from "node:crypto";
import { describe, expect, inject, it } from "vitest";
import { account, base, byEvent, chat, logs, seen, untilSeen } from "../fakes/gateway-sent.ts";

describe("a client that leaves", () => {
  /** Sends a request whose connection the test can end; resolves to the answer's first bytes. */
  function connected(mode: string, event: string) {
    const id = randomUUID();
    const headers = {
      "content-type": "application/json",
      "x-test-mode": mode,
      "x-test-id": id,
      "cf-aig-event-id": event,
    };
    const url = `${base}/v1/${account}/open/openai/chat/completions`;
    const req = httpRequest(url, { method: "POST", headers, agent: false });
    const first = new Promise<string>((resolve) => {
      req.on("response", (res) => {
        res.on("error", () => undefined);
        res.once("data", (chunk: Buffer) => resolve(chunk.toString()));
      });
    });
    req.on("error", () => undefined);
    req.end(chat);
    const leave = (): void => {
      // A bare workerd takes an orderly close (FIN) for a client that still reads, so there it is a reset.
      if (inject("target") === "workers") req.socket?.resetAndDestroy();
      else req.destroy();
    };
    return { id, first, leave };
  }

  it("before the answer ends the provider's request", async () => {
    const { id, leave } = connected("never", randomUUID());
    await untilSeen(id, (records) => records.length === 1);
    leave();
    await untilSeen(id, ([record]) => record?.aborted === true);
  });

  it("in mid-stream ends the provider's stream and leaves a row without success", async () => {
    const event = randomUUID();
    const { id, first, leave } = connected("hang", event);
    expect(await first).toContain('{"first":true}');
    leave();
    await untilSeen(id, ([record]) => record?.aborted === true);
    const [row] = await logs("open", byEvent(event), 1);
    expect(row).toMatchObject({ success: false });
  });
});

it("a slow client slows the provider", async () => {
  const id = randomUUID();
  const headers = { "content-type": "application/json", "x-test-mode": "flood", "x-test-id": id };
  const received = await new Promise<{ early: boolean; size: number }>((resolve, reject) => {
    const req = httpRequest(
      `${base}/v1/${account}/open/openai/flood`,
      { method: "POST", headers },
      (res) => {
        res.pause();
        const readAll = async (): Promise<void> => {
          // 64 MiB do not fit into socket buffers: the upstream is done only when somebody reads.
          await new Promise((wait) => setTimeout(wait, 500));
          const early = (await seen(id))[0]?.finished ?? true;
          let size = 0;
          for await (const chunk of res) size += (chunk as Buffer).length;
          resolve({ early, size });
        };
        readAll().catch(reject);
      },
    );
    req.on("error", reject);
    req.end(chat);
  });
  expect(received).toEqual({ early: false, size: 64 * 1024 * 1024 });
});
