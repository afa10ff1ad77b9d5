// A server whose instance follows a bucket of six objects: RUNTIME DATA_DIR hang|work. With `hang` the fourth object never
// comes; it prints `took N` once N objects are indexed, and waits to be killed. With `work` it prints `asked KEYS`: the objects
// that it asked for until its job was over.
import { search } from "../../core/search/mod.ts";
import type { Platform } from "../../core/ports.ts";
import type { LocalPlatformOptions } from "../../adapters/shared/local-platform.ts";
import { bucketKey, playedBucket } from "../fakes/search-bucket.ts";
import { printNow } from "./print-now.ts";

const [runtime = "node", dataDir = "", mode = "work"] = process.argv.slice(2);
const adapter = (await import(`../../adapters/${runtime}/mod.ts`)) as Record<string, unknown>;
const open = adapter[`${runtime}Platform`] as (options: LocalPlatformOptions) => Promise<Platform>;
const bucket = playedBucket(
  Object.fromEntries(["a", "b", "c", "d", "e", "f"].map((key) => [`${key}.md`, `About ${key}.`])),
);
if (mode === "hang")
  bucket.before = (key) => (key > "c.md" ? new Promise(() => undefined) : Promise.resolve());
const own = await open({ dataDir, chromiumPath: "/nowhere" });
const platform = { ...own, egress: bucket };
const app = search({ platform, auth: "off" });
const root = "http://test/accounts/a/ai-search";

interface Answer {
  readonly id: string;
  readonly completed: number;
  readonly end_reason?: string;
}

async function call(method: string, path: string, body?: unknown): Promise<Answer & Answer[]> {
  const headers = { "content-type": "application/json" };
  const init = body === undefined ? {} : { headers, body: JSON.stringify(body) };
  const response = await app.request(`${root}${path}`, { method, ...init });
  const { result } = (await response.json()) as { result: Answer & Answer[] };
  return result;
}

if (mode === "hang") {
  const key = { cf_api_id: bucketKey.id, cf_api_key: bucketKey.secret };
  const { id } = await call("POST", "/tokens", { name: "store", ...key });
  await call("POST", "/instances", {
    id: "main",
    source: "docs",
    source_params: { endpoint: "https://store.example" },
    token_id: id,
  });
}
for (;;) {
  const { completed } = await call("GET", "/instances/main/stats");
  const [job] = await call("GET", "/instances/main/jobs");
  if (mode === "hang" && completed === 3) {
    printNow(`took ${completed}`);
    await platform.system.sleep(3_600_000);
  }
  if (job?.end_reason !== undefined) {
    const objects = bucket.asked.filter((path) => !path.includes("?"));
    printNow(`asked ${completed} ${job.end_reason} ${objects.toSorted().join(" ")}`);
    break;
  }
  await platform.system.sleep(5);
}
await platform.close();
