// A server whose embedder is told by its first argument what to do: RUNTIME DATA_DIR hang|work. With `hang` it uploads three
// items, prints `uploaded` once keywords find them, and waits to be killed while their vectors are made. With `work` it
// prints `vectors N` as soon as all N have theirs, and how long that took.
import { search } from "../../core/search/mod.ts";
import type { Embedder, Platform } from "../../core/ports.ts";
import type { LocalPlatformOptions } from "../../adapters/shared/local-platform.ts";
import { printNow } from "./print-now.ts";

const [runtime = "node", dataDir = "", mode = "work"] = process.argv.slice(2);
const adapter = (await import(`../../adapters/${runtime}/mod.ts`)) as Record<string, unknown>;
const open = adapter[`${runtime}Platform`] as (options: LocalPlatformOptions) => Promise<Platform>;
const platform = await open({ dataDir, chromiumPath: "/nowhere" });

const embedder: Embedder = {
  model: "test",
  dimensions: 2,
  embed: (texts) =>
    mode === "hang"
      ? new Promise(() => undefined)
      : Promise.resolve(texts.map(() => Float32Array.of(1, 1))),
};
const app = search({ platform, auth: "off", embedder });
const root = "http://test/accounts/a/ai-search/instances";

async function call(path: string, init: RequestInit = {}): Promise<string> {
  const response = await app.request(`${root}${path}`, init);
  const text = await response.text();
  if (!response.ok) throw new Error(`${path}: ${response.status} ${text}`);
  return text;
}
const json = (body: unknown): RequestInit => ({
  method: "POST",
  body: JSON.stringify(body),
  headers: { "content-type": "application/json" },
});

if (mode === "hang") {
  await call("", json({ id: "main" }));
  for (const name of ["a.md", "b.md", "c.md"]) {
    const form = new FormData();
    form.set("file", new File(["zebra"], name));
    const encoded = new Response(form);
    const headers = { "content-type": encoded.headers.get("content-type") ?? "" };
    await call("/main/items", { method: "POST", headers, body: await encoded.arrayBuffer() });
  }
  const retrieval = { retrieval_type: "keyword" };
  const found = await call(
    "/main/search",
    json({ query: "zebra", ai_search_options: { retrieval } }),
  );
  printNow(`uploaded ${found.split('"type":"text"').length - 1}`);
  await platform.system.sleep(3_600_000);
}
const started = performance.now();
for (;;) {
  const stats = await call("/main/stats");
  if (stats.includes('"completed":3')) {
    printNow(`vectors ${/"vectorsCount":(\d+)/u.exec(stats)?.[1]} ${performance.now() - started}`);
    break;
  }
  await platform.system.sleep(5);
}
await platform.close();
