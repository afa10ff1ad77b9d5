// Builds core/openapi/document.ts, which every runtime serves, from the schemas that check requests and the operations in
// scripts/openapi/: `npm run openapi`. The file is kept in the repository, so that no user builds anything; a test compares
// it with what the sources give. Its text is compressed, because every bundle of the platform holds it.
import { createHash } from "node:crypto";
import { writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { openApiDocument } from "./openapi/document.ts";

const builtFile: string = fileURLToPath(new URL("../core/openapi/document.ts", import.meta.url));

/** Returns the text that {@link builtFile} holds compressed. */
export function builtText(): string {
  return JSON.stringify(openApiDocument());
}

function buildOpenApi(): string {
  const text = builtText();
  const tag = createHash("sha256").update(text).digest("hex").slice(0, 16);
  return `// Built by \`npm run openapi\`: change scripts/openapi/, or the schemas.
import type { PackedText } from "../http/built-text.ts";

/** The description of the API, OpenAPI 3.1. */
export const openApi: PackedText = {
  tag: "${tag}",
  gzip: "${gzipSync(text, { level: 9 }).toString("base64")}",
};
`;
}

if (import.meta.main) writeFileSync(builtFile, buildOpenApi());
