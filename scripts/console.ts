// Builds the web console from console/ into core/console/assets.ts, which every runtime serves: `npm run console`. The file
// is kept in the repository, so that no user builds anything; a test compares it with what these sources give.
import { build } from "esbuild";
import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
/** The path of the built files. */
export const builtFile: string = `${root}core/console/assets.ts`;

/** Returns the text of {@link builtFile} that the sources give. */
export async function buildConsole(): Promise<string> {
  const { outputFiles } = await build({
    absWorkingDir: root,
    entryPoints: { app: "console/main.tsx", portal: "console/portal.tsx" },
    outdir: "out",
    bundle: true,
    minify: true,
    write: false,
    format: "esm",
    target: "es2022",
    charset: "utf8",
    legalComments: "none",
    jsx: "automatic",
    jsxImportSource: "preact",
    // This package says that its modules do nothing but export, which is true of core and adapters only.
    ignoreAnnotations: true,
  });
  const textOf = (name: string): string =>
    outputFiles.find(({ path }) => path.endsWith(`/${name}`))?.text ?? "";
  const style = await build({
    absWorkingDir: root,
    stdin: {
      contents: '@import "uplot/dist/uPlot.min.css"; @import "./style.css";',
      resolveDir: `${root}console`,
      loader: "css",
    },
    bundle: true,
    minify: true,
    write: false,
    target: "es2022",
  });
  const files: Record<string, string> = {
    "": readFileSync(`${root}console/index.html`, "utf8"),
    portal: readFileSync(`${root}console/portal.html`, "utf8"),
    "app.js": textOf("app.js"),
    "portal.js": textOf("portal.js"),
    "app.css": style.outputFiles[0]?.text ?? "",
  };
  const entries = Object.entries(files).map(([name, text]) => {
    const tag = createHash("sha256").update(text).digest("hex").slice(0, 16);
    return `  ${JSON.stringify(name)}: {\n    tag: "${tag}",\n    text: ${JSON.stringify(text)},\n  },\n`;
  });
  return `${HEAD}${entries.join("")}};\n`;
}

const HEAD = `// Built from console/ by \`npm run console\`: change it there.

/** The files of the web console by name; the empty one is its page. \`tag\` changes with the text. */
export const assets: Readonly<Record<string, { readonly tag: string; readonly text: string }>> = {
`;

if (import.meta.main) writeFileSync(builtFile, await buildConsole());
