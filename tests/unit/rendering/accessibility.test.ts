import { expect, it } from "vitest";
import { stepwise } from "../../../core/work/background.ts";
import { accessibilityAction } from "../../../core/rendering/actions/accessibility.ts";
import { fakeClock } from "../../fakes/rendering-system.ts";
import type { Page } from "../../../core/rendering/page/page.ts";

/** Elements and texts of the page, and how often others had a turn while its tree was made. */
const seen = { size: 1, turns: 0, asked: 0 };

/** A page whose DevTools answer with these nodes. */
const pageOf = (nodes: readonly object[]): Page =>
  ({
    world: { context: 1 },
    system: {
      ...fakeClock().system,
      sleep: (ms: number, signal?: AbortSignal) => {
        if (ms > 0) return fakeClock().system.sleep(ms, signal);
        seen.turns += 1;
        return Promise.resolve();
      },
    },
    call: (method: string) => {
      if (method === "Runtime.callFunctionOn")
        return Promise.resolve({ result: { value: seen.size } });
      seen.asked += 1;
      return Promise.resolve({ nodes });
    },
  }) as unknown as Page;

const facts = { title: "", url: null, base: null, drawable: true };
const treeOf = async (nodes: readonly object[], interestingOnly = true): Promise<unknown> => {
  const page = pageOf(nodes);
  const action = accessibilityAction({ interestingOnly }, stepwise(page.system));
  return JSON.parse((await action(page, facts, new AbortController().signal)).text);
};

const node = (nodeId: string, role: string, name: string, more: object = {}): object => ({
  nodeId,
  ignored: false,
  role: { value: role },
  name: { value: name },
  ...more,
});

const property = (name: string, value: unknown): object => ({ name, value: { value } });

it("tells each property in its own way, and nothing that does not hold", async () => {
  const properties = [
    property("checked", "mixed"),
    property("pressed", "false"),
    property("disabled", true),
    property("required", false),
    property("invalid", "false"),
    property("hasPopup", "menu"),
    property("level", 2),
    property("roledescription", "toggle"),
    property("focused", true),
  ];
  expect(await treeOf([node("1", "switch", "On", { properties, value: { value: 3 } })])).toEqual({
    role: "switch",
    name: "On",
    value: 3,
    roledescription: "toggle",
    disabled: true,
    focused: true,
    checked: "mixed",
    pressed: false,
    level: 2,
    haspopup: "menu",
  });
});

it("refuses a page of too many elements before its tree is made, and says how many are allowed", async () => {
  Object.assign(seen, { size: 20_001, asked: 0 });
  await expect(treeOf([node("1", "button", "a")])).rejects.toMatchObject({
    kind: "page_too_large",
    message: expect.stringContaining("20000"),
  });
  expect(seen.asked).toBe(0);
  seen.size = 20_000;
  expect(await treeOf([node("1", "button", "a")])).toMatchObject({ role: "button" });
});

it("lets others go on while it makes a large tree", async () => {
  const ids = Array.from({ length: 60_000 }, (_, n) => `n${n}`);
  seen.turns = 0;
  await treeOf([
    node("1", "RootWebArea", "", { childIds: ids }),
    ...ids.map((id) => node(id, "StaticText", "a")),
  ]);
  // Five passes of 512 nodes a turn.
  expect(seen.turns).toBeGreaterThanOrEqual((5 * 60_000) / 1024);
});

it("lifts the children of what says nothing, and leaves out what is hidden or ignored", async () => {
  const nodes = [
    node("1", "RootWebArea", "T", { childIds: ["2", "5", "6", "missing"] }),
    node("2", "generic", "", { childIds: ["3", "4"] }),
    node("3", "StaticText", "a"),
    node("4", "StaticText", "b", { ignored: true }),
    node("5", "StaticText", "c", { properties: [property("hidden", true)] }),
    node("6", "button", "Go", { childIds: ["7"] }),
    node("7", "StaticText", "Go"),
  ];
  expect(await treeOf(nodes)).toEqual({
    role: "RootWebArea",
    name: "T",
    children: [
      { role: "StaticText", name: "a" },
      { role: "button", name: "Go" },
    ],
  });
});

it("refuses a tree that is too deep to be written, and takes one whose depth says nothing", async () => {
  const depth = 20_000;
  const deep = (role: string): object[] =>
    Array.from({ length: depth }, (_, n) =>
      node(String(n), role, "h", { childIds: n + 1 < depth ? [String(n + 1)] : [] }),
    );
  expect(await treeOf(deep("heading"))).toEqual({ role: "heading", name: "h" });
  expect(await treeOf(deep("generic"))).toEqual({
    role: "generic",
    name: "h",
    children: [{ role: "generic", name: "h" }],
  });
  await expect(treeOf(deep("heading"), false)).rejects.toMatchObject({ kind: "page_too_large" });
});
