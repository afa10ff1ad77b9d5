import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

/** Access to the API: in process or over HTTP. */
export interface DemoTarget {
  readonly fetch: (request: Request) => Response | Promise<Response>;
  readonly url: string;
  readonly token: string;
  readonly accountId: string;
}

/** Creates the search instance `demo` with the project's own documents, unless it exists and was not cut off. */
export async function seedDemo(target: DemoTarget, isCutOff: boolean): Promise<void> {
  const root = `${target.url}/client/v4/accounts/${target.accountId}/ai-search`;
  const headers = { authorization: `Bearer ${target.token}` };
  const found = await target.fetch(new Request(`${root}/instances/demo`, { headers }));
  await found.body?.cancel();
  if (found.ok && !isCutOff) return;
  if (!found.ok)
    await expectOk(
      target.fetch(
        new Request(`${root}/instances`, {
          method: "POST",
          headers: { ...headers, "content-type": "application/json" },
          body: JSON.stringify({ id: "demo" }),
        }),
      ),
    );
  for (const { name, text } of documents()) {
    const form = new FormData();
    form.set("file", new File([text], name, { type: "text/markdown" }));
    form.set("wait_for_completion", "true");
    const url = `${root}/namespaces/default/instances/demo/items`;
    await expectOk(target.fetch(new Request(url, { method: "POST", headers, body: form })));
  }
}

async function expectOk(pending: Response | Promise<Response>): Promise<void> {
  const response = await pending;
  if (!response.ok) throw new Error(`The demo could not be set up: ${await response.text()}`);
  await response.body?.cancel();
}

/** Reads the project's Markdown documents, wherever this file runs from (the sources or `dist/`). */
function documents(): { name: string; text: string }[] {
  const root = projectRoot(dirname(fileURLToPath(import.meta.url)));
  const guides = existsSync(join(root, "docs"))
    ? readdirSync(join(root, "docs"), { recursive: true, encoding: "utf8" }).map((name) =>
        join("docs", name),
      )
    : [];
  return ["README.md", ...guides.filter((name) => name.endsWith(".md"))]
    .filter((name) => existsSync(join(root, name)))
    .map((name) => ({ name, text: prose(readFileSync(join(root, name), "utf8")) }));
}

/** Markdown without its code: the builtin models quote sentences. */
function prose(markdown: string): string {
  return markdown.replaceAll(/^```[^]*?^```$/gm, "");
}

/** Returns the nearest folder above that holds a `package.json`. */
export function projectRoot(folder: string): string {
  const parent = dirname(folder);
  return existsSync(join(folder, "package.json")) || parent === folder
    ? folder
    : projectRoot(parent);
}
