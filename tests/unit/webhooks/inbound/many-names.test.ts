import { openPlatform } from "#platform";
import { expect, it } from "vitest";
import { agents } from "../../../../core/agents/mod.ts";
import { nameSpaces } from "../../../../core/webhooks/inbound/name-space.ts";
import { type SourceOptions, webhooks, webhooksManagement } from "../../../../core/webhooks/mod.ts";
import { eventually } from "../../../cases/eventually.ts";
import { SECRET, signedRequest } from "../../../fakes/webhooks-sender.ts";

/** Options that count how often something is read of them. */
function counted(options: SourceOptions, reads: Map<string, number>): SourceOptions {
  return new Proxy(options, {
    get(target, name, receiver) {
      const key = String(name);
      reads.set(key, (reads.get(key) ?? 0) + 1);
      return Reflect.get(target, name, receiver);
    },
  });
}

it("many sources, entities and former names are each looked at once, not once for each other", () => {
  const reads = new Map<string, number>();
  const names = Array.from({ length: 200 }, (_, n) => `source${n}`);
  const of = (name: string, kind: string) => Array.from({ length: 50 }, (_, n) => name + kind + n);
  const sources = Object.fromEntries(
    names.map((name, n) => {
      const named = { entities: of(name, "e"), formerNames: of(name, "f") };
      const group = n % 2 === 0 ? {} : { group: "pair" };
      return [name, counted({ scheme: "generic", agent: "Shop", ...named, ...group }, reads)];
    }),
  );
  const spaceOf = nameSpaces(sources);
  const spaces = names.map(spaceOf);
  for (const member of ["agent", "entities", "formerNames"])
    expect([member, (reads.get(member) ?? 0) / names.length]).toEqual([
      member,
      expect.toSatisfy((each: number) => each <= 2),
    ]);
  const [own, first, , second] = spaces;
  expect(first?.owners).toHaveLength(100 * 51);
  expect([first?.owners[0], second?.owners[0], own?.owners.length]).toEqual([
    "source1",
    "source3",
    51,
  ]);
  expect(first?.owners).toContain("source3f49");
  for (const [owner, isForeign] of [
    ["source0", false],
    ["source0f7", false],
    ["source1", true],
    ["source2f49", true],
    ["source2e1", false],
    ["nobody", false],
  ] as const)
    expect([owner, own?.isForeign(owner)]).toEqual([owner, isForeign]);
  expect(own?.reservation("source0e0")).toBe("own");
  expect(own?.reservation("source1e0")).toBe("other");
  expect(own?.reservation("source1f0")).toBe("none");
  expect(reads.get("agent")).toBe(names.length);
});

it("a source of many names receives, is listed and sends again, as one of a single name does", async () => {
  const platform = await openPlatform();
  agents({ platform, auth: "off" });
  const formerNames = Array.from({ length: 150 }, (_, n) => `former${n}`);
  const source: SourceOptions = { scheme: "generic", secret: SECRET, formerNames };
  const sources = {
    shop: { ...source, entities: ["reserved"] },
    stall: { ...source, formerNames: [] },
  };
  const options = { platform, auth: "off", sources } as const;
  const [inbound, management] = [webhooks(options), webhooksManagement(options)];
  const send = async (path: string, event_id: string): Promise<string> => {
    const answer = await inbound.fetch(await signedRequest(path, { event_id, type: "paid" }));
    const { result } = (await answer.json()) as { result: { status: string } | null };
    return `${answer.status} ${result?.status}`;
  };
  for (const entity of ["reserved", "thing", "shop:thing"])
    for (const status of ["processed", "duplicate"])
      expect([entity, await send(`/shop/${entity}`, entity)]).toEqual([entity, `200 ${status}`]);
  const api = async (path: string, init?: RequestInit): Promise<unknown> =>
    (await management.request(`/accounts/local/webhooks${path}`, init)).json();
  const listed = async (): Promise<readonly unknown[]> =>
    ((await api("/entities?source=shop")) as { result: readonly unknown[] }).result;
  await eventually(async () => (await listed()).length === 3, "its entities are listed");
  const filter = JSON.stringify({ of: "events", source: "shop" });
  const made = await api("/replays", { method: "POST", body: filter });
  const { id } = (made as { result: { id: string } }).result;
  const state = async (): Promise<unknown> =>
    ((await api(`/replays/${id}`)) as { result: { status: string } }).result.status;
  await eventually(async () => (await state()) === "completed", "the replay is completed");
  await platform.close();
});
