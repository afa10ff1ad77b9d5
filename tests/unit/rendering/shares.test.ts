import { afterAll, expect, it } from "vitest";
import { openPlatform } from "#platform";
import type { Background, Platform, Wire } from "../../../core/ports.ts";
import { rendering } from "../../../core/rendering/mod.ts";
import { eventually } from "../../cases/eventually.ts";
import { fakeWire, openingBrowser } from "../../fakes/rendering-wire.ts";

const caller = (request: Request) => {
  const id = request.headers.get("authorization") ?? "";
  const grants = [{ permissions: ["*" as const], accounts: ["a"] }];
  return Promise.resolve(id === "" ? null : { id, kind: "token" as const, grants });
};

const opened: Platform[] = [];
afterAll(() => Promise.all(opened.map((one) => one.close())));

interface Setting {
  readonly ask: (who: string, action: string, body: object) => Promise<number>;
  /** Owners of the tasks beside the event loop, in their order. */
  readonly owners: (string | undefined)[];
  /** Calls that the browser has not answered. */
  readonly held: () => number;
}

/** Rendering over a browser and threads that never come to an end for the token "slow". */
async function setting(): Promise<Setting> {
  const platform = await openPlatform({ data: `shares-${crypto.randomUUID()}` });
  opened.push(platform);
  const owners: (string | undefined)[] = [];
  let connections = 0;
  const connect = (): Promise<Wire> => {
    connections += 1;
    const fake = fakeWire((call, say) =>
      call.method === "Target.createTarget" ? undefined : openingBrowser(call, say),
    );
    return Promise.resolve(fake.wire);
  };
  const run: Background["run"] = (task, input, signal, owner) => {
    owners.push(owner);
    if (owner?.endsWith("slow") === true) return new Promise(() => undefined);
    return platform.background.run(task, input, signal, owner);
  };
  const slow: Platform = {
    ...platform,
    background: { run },
    browser: { connect, close: () => Promise.resolve() },
  };
  const app = rendering({ platform: slow, auth: caller, maxConcurrency: 2, maxQueue: 4 });
  const ask: Setting["ask"] = async (who, action, body) => {
    const answer = await app.request(`/accounts/a/browser-rendering/${action}`, {
      method: "POST",
      headers: { authorization: who, "content-type": "application/json" },
      body: JSON.stringify(body),
    });
    return answer.status;
  };
  return { ask, owners, held: () => connections };
}

const page = { html: "<script>1</script>" };

it("a token that fills the browser and its queue leaves a place for another", async () => {
  const { ask, held } = await setting();
  const refused: number[] = [];
  for (let n = 0; n < 8; n++) void ask("slow", "content", page).then((one) => refused.push(one));
  await eventually(() => refused.length === 2 && held() === 2, "two of eight are refused");
  void ask("other", "content", page);
  await eventually(() => held() === 3, "the other token has a page");
  expect(refused).toEqual([429, 429]);
  // A third one waits, in a place that the first one gives up.
  void ask("third", "content", page);
  await eventually(() => refused.length === 3, "the newest of the first is refused");
});

it.each(["markdown", "content"])(
  "a token that fills the conversions of %s leaves places and threads for another",
  async (action) => {
    const { ask, owners } = await setting();
    const refused: number[] = [];
    const convert = { html: "<p>a", render: false, includeTags: ["p"] };
    for (let n = 0; n < 9; n++) void ask("slow", action, convert).then((one) => refused.push(one));
    await eventually(() => refused.length === 1, "one of nine is refused");
    void ask("other", action, convert);
    await eventually(() => refused.length === 2, "the other token has its place in the queue");
    expect(new Set(owners)).toEqual(new Set(["a\ntoken\nslow"]));
  },
);
