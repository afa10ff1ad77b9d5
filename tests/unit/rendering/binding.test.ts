import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openPlatform } from "#platform";
import type { Platform } from "../../../core/ports.ts";
import { type RenderBinding, renderingParts } from "../../../core/rendering/mod.ts";

let platform: Platform;
let render: RenderBinding;
beforeAll(async () => {
  platform = await openPlatform({ data: `binding-${crypto.randomUUID()}` });
  render = renderingParts({ platform, auth: "off" }).binding;
});
afterAll(() => platform.close());

const html = `<title>Birds</title><h1 id="h">Herons</h1><a href="https://birds.example/">all</a>`;

describe("renderingParts().binding", () => {
  it("gives what the routes give, by type", async () => {
    const pdf = await render.pdf({ html });
    expect(new TextDecoder().decode(pdf.slice(0, 5))).toBe("%PDF-");
    const picture = await render.screenshot({ html, screenshotOptions: { type: "jpeg" } });
    expect(Array.from(picture.subarray(0, 3))).toEqual([0xff, 0xd8, 0xff]);
    expect(await render.content({ html })).toContain("<h1");
    expect(await render.markdown({ html })).toContain("# Herons");
    expect(await render.links({ html })).toEqual(["https://birds.example/"]);
    expect(await render.scrape({ html, elements: [{ selector: "h1" }] })).toMatchObject([
      {
        selector: "h1",
        results: [{ text: "Herons", html: "Herons", attributes: [{ name: "id", value: "h" }] }],
      },
    ]);
    const parts = await render.snapshot({ html, formats: ["content", "markdown"] });
    expect(Object.keys(parts).toSorted()).toEqual(["content", "markdown"]);
  });

  it("refuses what the routes refuse, and fields that have no effect", async () => {
    await expect(render.markdown({})).rejects.toMatchObject({ status: 400 });
    await expect(render.pdf(undefined)).rejects.toMatchObject({ status: 400 });
    await expect(render.pdf({ html, nonsense: 1 })).rejects.toThrow('Unknown field "nonsense"');
    await expect(render.markdown({ html, nonsense: 1 })).rejects.toThrow(
      'Unknown field "nonsense"',
    );
    // The machine itself is out of reach, as it is by the route.
    await expect(render.content({ url: "http://127.0.0.1:9/" })).rejects.toMatchObject({
      name: "ApiError",
    });
  });

  it("ends with its signal", async () => {
    const signal = AbortSignal.abort(new Error("over"));
    await expect(render.content({ html }, { signal })).rejects.toThrow();
  });
});
