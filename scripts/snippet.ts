// Builds the search box for other people's pages from snippet/ into core/search/snippet/search-script.ts, which the public
// endpoints serve: `npm run snippet`. The file is kept in the repository; a test compares it with what these sources give.
import { build } from "esbuild";
import { createHash } from "node:crypto";
import { writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
/** The path of the built script. */
export const snippetFile: string = `${root}core/search/snippet/search-script.ts`;

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

/** Returns the text of {@link snippetFile} that the sources give. */
export async function buildSnippet(): Promise<string> {
  const text = await bundleSnippet();
  const tag = createHash("sha256").update(text).digest("hex").slice(0, 16);
  return `${HEAD}  tag: "${tag}",\n  text: ${JSON.stringify(text)},\n};\n`;
}

const HEAD = `// Built from snippet/ by \`npm run snippet\`: change it there.

/** The script of the element \`causey-search\`. \`tag\` changes with the text. */
export const searchScript: { readonly tag: string; readonly text: string } = {
`;

if (import.meta.main) writeFileSync(snippetFile, await buildSnippet());
