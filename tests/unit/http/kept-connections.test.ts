import { beforeEach, describe, expect, it } from "vitest";
import { fetchTransport } from "../../../adapters/shared/http/fetch-transport.ts";
import type { OutboundRequest } from "../../../core/ports.ts";

const lost = (): Error => Object.assign(new Error("gone"), { code: "ECONNRESET" });

describe("a fetch whose connection ends without an answer", () => {
  /** What each request meets, in turn; an answer where nothing is left. */
  let ends: (Error | null)[] = [];
  let sent = 0;
  const make = (): ReturnType<typeof fetchTransport> =>
    fetchTransport({
      decodes: () => false,
      send() {
        sent += 1;
        const error = ends.shift() ?? null;
        return error === null ? Promise.resolve(new Response("ok")) : Promise.reject(error);
      },
    });
  const post = (more: Partial<OutboundRequest> = {}): OutboundRequest => ({
    method: "POST",
    url: "http://upstream.test/a",
    headers: [],
    body: new TextEncoder().encode("{}"),
    ...more,
  });
  const reasonOf = (work: Promise<unknown>): Promise<unknown> =>
    work.then(
      () => "answered",
      (error: unknown) => (error as { reason?: string }).reason,
    );

  beforeEach(() => {
    ends = [];
    sent = 0;
  });

  it("is repeated once where the host has answered before", async () => {
    const { send } = make();
    ends = [null, lost(), null, lost(), lost()];
    expect(await reasonOf(send(post()))).toBe("answered");
    expect(await reasonOf(send(post({ url: "http://upstream.test/b?c=d" })))).toBe("answered");
    expect(await reasonOf(send(post()))).toBe("unreachable");
    expect(sent).toBe(5);
  });

  it("is not repeated on a first connection", async () => {
    const { send } = make();
    ends = [null, lost()];
    await send(post());
    expect(await reasonOf(send(post({ url: "http://other.test/" })))).toBe("unreachable");
    expect(sent).toBe(2);
  });

  it("is not repeated with a body that streams, nor after another failure", async () => {
    const { send } = make();
    ends = [null, lost(), Object.assign(new Error("no"), { code: "ECONNREFUSED" })];
    await send(post());
    expect(await reasonOf(send(post({ body: new Blob(["x"]).stream() })))).toBe("unreachable");
    expect(await reasonOf(send(post()))).toBe("unreachable");
    expect(sent).toBe(3);
  });
});
