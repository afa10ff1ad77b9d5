// Compiles the functions that run in pages from page-scripts/ into core/rendering/page/scripts/page-scripts.ts: `npm run page-scripts`.
// The file is kept in the repository; a test compares it with what these sources give. Core sends their texts to the browser, so
// they must be texts: a bundler that rewrites functions would break what `toString` gives, and Workers compile nothing at run time.
import { build, type BuildOptions } from "esbuild";
import { writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { toAscii } from "./bundle.ts";

const root = fileURLToPath(new URL("..", import.meta.url));
/** The path of the compiled functions. */
const builtFile: string = `${root}core/rendering/page/scripts/page-scripts.ts`;
const ENTRY = "./page-scripts/main.ts";

const options = {
  absWorkingDir: root,
  bundle: true,
  write: false,
  format: "esm",
  target: "chrome120",
  legalComments: "none",
  // Names stay: a failure in a page names what failed.
  minifyWhitespace: true,
  minifySyntax: true,
} satisfies BuildOptions;

/** Returns the text of the built file. */
export async function builtPageScripts(): Promise<string> {
  const { metafile } = await build({ ...options, entryPoints: [ENTRY], metafile: true });
  const names = Object.values(metafile.outputs).flatMap((output) => output.exports);
  const lines = await Promise.all(
    names.toSorted().map(async (name) => {
      const text = JSON.stringify(await functionText(name));
      return `export const ${name} = ${text} as PageScript<PageFunctions["${name}"]>;\n`;
    }),
  );
  return `${HEAD}${lines.join("")}`;
}

/** Returns one function of the entry, with what it uses of the others' modules, as the source text of a function. */
async function functionText(name: string): Promise<string> {
  const { outputFiles } = await build({
    ...options,
    stdin: { contents: `export { ${name} } from "${ENTRY}";`, resolveDir: root },
  });
  const code = toAscii(outputFiles[0]?.text ?? "").trim();
  const exported = `export{${name}};`;
  if (!code.endsWith(exported)) throw new Error(`No module of ${name} alone: ${code.slice(-200)}`);
  return `function(){${code.slice(0, -exported.length)}return ${name}(...arguments)}`;
}

const HEAD = `// Built from page-scripts/ by \`npm run page-scripts\`: change it there.
import type { PageFunctions, PageScript } from "./page-functions.ts";

`;

if (import.meta.main) writeFileSync(builtFile, await builtPageScripts());
