import process from "node:process";
import { unpacked } from "../../../core/http/built-text.ts";
import { checkServerUrl, readOptions } from "../context/command-options.ts";

const help = `Usage: causey openapi [--url URL]

Prints the description of the API (OpenAPI 3.1) of this version; no server is needed. GET /openapi.json is the same.

  --url URL          The server address for clients generated from it [/]
  --json             On one line
`;

/** Runs `causey openapi`. */
export async function openApiCommand(args: readonly string[]): Promise<void> {
  const { values, positionals } = readOptions(args, {
    url: { type: "string" },
    // The output is JSON anyway; the flag only puts it on one line.
    json: { type: "boolean" },
    help: { type: "boolean", short: "h" },
  });
  if (values.help === true) return void process.stdout.write(help);
  if (positionals.length > 0)
    throw new TypeError(`causey openapi takes options only, got "${positionals[0]}"`);
  checkServerUrl(values.url);
  const { openApi } = await import("../../../core/openapi/document.ts");
  const description: unknown = JSON.parse((await unpacked(openApi)).text);
  const servers = [{ url: values.url ?? "/" }];
  process.stdout.write(
    `${JSON.stringify(Object.assign(Object(description), { servers }), null, values.json === true ? undefined : 2)}\n`,
  );
}
