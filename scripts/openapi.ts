// Builds core/openapi/document.ts, which every runtime serves, from the schemas that check requests and the operations in
// scripts/openapi/: `npm run openapi`. The file is kept in the repository, so that no user builds anything; a test compares
// it with what the sources give. Its texts are compressed, because every bundle of the platform holds them.
import { createHash } from "node:crypto";
import { writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { openApiDocument } from "./openapi/document.ts";
import { pageOf, styleHash } from "./openapi/page.ts";

const builtFile: string = fileURLToPath(new URL("../core/openapi/document.ts", import.meta.url));

/** Returns the texts that {@link builtFile} holds compressed. */
export function builtTexts(): { readonly openApi: string; readonly page: string } {
  const document = openApiDocument();
  return { openApi: JSON.stringify(document), page: pageOf(document) };
}

function buildOpenApi(): string {
  const { openApi, page } = builtTexts();
  const entry = (name: string, about: string, text: string): string => {
    const tag = createHash("sha256").update(text).digest("hex").slice(0, 16);
    return `
/** ${about} */
export const ${name}: PackedText = {
  tag: "${tag}",
  gzip: "${gzipSync(text, { level: 9 }).toString("base64")}",
};
`;
  };
  return [
    "// Built by `npm run openapi`: change scripts/openapi/, or the schemas.\n",
    'import type { PackedText } from "../http/built-text.ts";\n',
    entry("openApi", "The description of the API, OpenAPI 3.1.", openApi),
    entry("page", "The same for people.", page),
    `\n/** The hash with which a Content-Security-Policy allows the page's style. */\nexport const pageStyleHash = "${styleHash()}";\n`,
  ].join("");
}

if (import.meta.main) writeFileSync(builtFile, buildOpenApi());
