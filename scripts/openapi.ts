// Builds core/openapi/document.ts, which every runtime serves, from the schemas that check requests and the operations in
// scripts/openapi/: `npm run openapi`. The file is kept in the repository, so that no user builds anything; a test compares
// it with what the sources give. Its text is compressed, because every bundle of the platform holds it.
import { writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { openApiDocument } from "./openapi/document.ts";
import { packedText } from "./packed-text.ts";

const builtFile: string = fileURLToPath(new URL("../core/openapi/document.ts", import.meta.url));

/** Returns the text that {@link builtFile} holds compressed. */
export function builtText(): string {
  return JSON.stringify(openApiDocument());
}

function buildOpenApi(): string {
  const { tag, gzip } = packedText(builtText());
  return `// Built by \`npm run openapi\`: change scripts/openapi/, or the schemas.
import type { PackedText } from "../http/built-text.ts";

/** The description of the API, OpenAPI 3.1. */
export const openApi: PackedText = {
  tag: "${tag}",
  gzip: "${gzip}",
};
`;
}

if (import.meta.main) writeFileSync(builtFile, buildOpenApi());
