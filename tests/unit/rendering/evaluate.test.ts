import { expect, it } from "vitest";
import { CdpError } from "../../../core/rendering/cdp/cdp.ts";
import { evaluate } from "../../../core/rendering/page/evaluate.ts";
import type { Page } from "../../../core/rendering/page/page.ts";
import type { PageScript } from "../../../core/rendering/page/scripts/page-functions.ts";

/** A page that goes to another document `moves` times while it is asked. */
function movingPage(moves: number): { readonly page: Page; readonly asked: () => number } {
  let asked = 0;
  const page: Partial<Page> = {
    frame: "F",
    world: { context: null },
    system: { sleep: () => Promise.resolve() } as Partial<Page["system"]> as Page["system"],
    call: (method) => {
      if (method === "Page.createIsolatedWorld") return Promise.resolve({ executionContextId: 1 });
      asked += 1;
      if (asked > moves) return Promise.resolve({ result: { value: "here" } });
      return Promise.reject(new CdpError(method, "Execution context was destroyed."));
    },
  };
  return { page: page as Page, asked: () => asked };
}

const ask = (page: Page): Promise<unknown> =>
  evaluate(page, "() => 1" as PageScript<() => number>, [], new AbortController().signal);

it("evaluate() asks a page again that went to another document meanwhile", async () => {
  const { page, asked } = movingPage(19);
  expect(await ask(page)).toBe("here");
  expect(asked()).toBe(20);
});

it("evaluate() gives a page up that never settles", async () => {
  const { page, asked } = movingPage(100);
  await expect(ask(page)).rejects.toThrow("Execution context was destroyed.");
  expect(asked()).toBe(20);
});
