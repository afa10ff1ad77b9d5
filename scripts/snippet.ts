// Builds the search box for other people's pages from snippet/ into core/search/snippet/search-script.ts, which the public
// endpoints serve: `npm run snippet`. The file is kept in the repository; a test compares it with what these sources give. The
// script is compressed, because every bundle of search holds it.
import { build } from "esbuild";
import { writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { packedText } from "./packed-text.ts";

const root = fileURLToPath(new URL("..", import.meta.url));
/** The path of the built script. */
const snippetFile: string = `${root}core/search/snippet/search-script.ts`;

/** Returns the script that a page includes. */
export async function bundleSnippet(): Promise<string> {
  const { outputFiles } = await build({
    absWorkingDir: root,
    entryPoints: ["snippet/causey-search.ts"],
    bundle: true,
    minify: true,
    write: false,
    format: "esm",
    target: "es2022",
    charset: "ascii",
    legalComments: "none",
    // This package says that its modules do nothing but export, which is true of core and adapters only.
    ignoreAnnotations: true,
  });
  return outputFiles[0]?.text ?? "";
}

/** Returns the text of {@link snippetFile} for a script. */
function builtText(script: string): string {
  const { tag, gzip } = packedText(script);
  return `${HEAD}  tag: "${tag}",\n  gzip: "${gzip}",\n};\n`;
}

const HEAD = `// Built from snippet/ by \`npm run snippet\`: change it there.
import type { PackedText } from "../../http/built-text.ts";

/** The script of the element \`causey-search\`. */
export const searchScript: PackedText = {
`;

if (import.meta.main) writeFileSync(snippetFile, builtText(await bundleSnippet()));
