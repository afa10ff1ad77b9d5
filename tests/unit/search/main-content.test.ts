import { openPlatform } from "#platform";
import { afterEach, expect, it } from "vitest";
import { platformApi } from "../../../core/api.ts";
import type { Platform } from "../../../core/ports.ts";
import { mainContent } from "../../../core/rendering/extract/mod.ts";
import type { RenderingOptions } from "../../../core/rendering/mod.ts";
import { withoutPackages } from "../../fakes/rendering-packages.ts";
import { answerOf } from "../../fakes/search-api.ts";

let platform: Platform;
afterEach(() => platform.close());

const story = "The lighthouse keeper counts ships. ".repeat(20);
const page = `<html><head><title>Lighthouse notes</title></head><body>
<nav><a href="/a">Subscribe to the newsletter</a></nav>
<article><h2>Night watch</h2><p>${story}</p></article>
<footer>All rights reserved by the harbour</footer></body></html>`;

/** The text of an HTML file as it was indexed. */
async function indexed(
  rendering: Pick<RenderingOptions, "extract">,
  html: string,
  change: (platform: Platform) => Platform = (same) => same,
): Promise<string> {
  platform = await openPlatform();
  const app = platformApi({ platform: change(platform), auth: "off", rendering });
  const root = "http://test/client/v4/accounts/local/ai-search/instances";
  const headers = { "content-type": "application/json" };
  const body = JSON.stringify({ id: "main", chunk: false });
  await app.fetch(new Request(root, { method: "POST", headers, body }));
  const form = new FormData();
  form.set("file", new File([html], "page.html", { type: "text/html" }));
  const sent = new Response(form);
  const type = sent.headers.get("content-type") ?? "";
  const upload = await app.fetch(
    new Request(`${root}/main/items`, {
      method: "POST",
      headers: { "content-type": type },
      body: await sent.arrayBuffer(),
    }),
  );
  const { result } = await answerOf(upload);
  const chunks = await answerOf(
    await app.fetch(new Request(`${root}/main/items/${result.id}/chunks`)),
  );
  return chunks.result.map((chunk) => ("text" in chunk ? String(chunk.text) : "")).join("\n");
}

it("HTML is indexed without what stands around its content, below its title", async () => {
  const text = await indexed({ extract: mainContent }, page);
  expect(text).toMatch(/^# Lighthouse notes\n\n/u);
  expect(text).toContain("The lighthouse keeper counts ships.");
  expect(text).not.toMatch(/newsletter|rights reserved/u);
});

it("HTML is indexed as a whole where nothing finds its content, or it has none", async () => {
  expect(await indexed({}, page)).toContain("newsletter");
  await platform.close();
  expect(await indexed({ extract: mainContent }, "<p>A short note.</p>")).toContain(
    "A short note.",
  );
});

it("HTML is indexed as a whole where the packages that find its content are not installed", async () => {
  expect(await indexed({ extract: mainContent }, page, withoutPackages)).toContain("newsletter");
});
