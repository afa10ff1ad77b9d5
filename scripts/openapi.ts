// Builds core/openapi/document.ts, which every runtime serves, from the schemas that check requests and the operations in
// scripts/openapi/: `npm run openapi`. The file is kept in the repository, so that no user builds anything; a test compares
// it with what the sources give.
import { createHash } from "node:crypto";
import { writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { openApiDocument } from "./openapi/document.ts";
import { pageOf, styleHash } from "./openapi/page.ts";

/** The path of the built file. */
export const builtFile: string = fileURLToPath(
  new URL("../core/openapi/document.ts", import.meta.url),
);

/** Returns the text of {@link builtFile} that the sources give. */
export function buildOpenApi(): string {
  const document = openApiDocument();
  const entry = (name: string, about: string, text: string): string => {
    const tag = createHash("sha256").update(text).digest("hex").slice(0, 16);
    return `
/** ${about} */
export const ${name}: BuiltText = {
  tag: "${tag}",
  text: ${JSON.stringify(text)},
};
`;
  };
  return [
    "// Built by `npm run openapi`: change scripts/openapi/, or the schemas.\n",
    'import type { BuiltText } from "../http/built-text.ts";\n',
    entry("openApi", "The description of the API, OpenAPI 3.1.", JSON.stringify(document)),
    entry("page", "The same for people.", pageOf(document)),
    `\n/** The hash with which a Content-Security-Policy allows the page's style. */\nexport const pageStyleHash = "${styleHash()}";\n`,
  ].join("");
}

if (import.meta.main) writeFileSync(builtFile, buildOpenApi());
