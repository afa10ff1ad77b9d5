// Builds the web console from console/ into core/console/assets.ts, which every runtime serves: `npm run console`. The file
// is kept in the repository, so that no user builds anything; a test compares it with what these sources give. Its texts are
// compressed, because every bundle of the platform holds them.
import { build } from "esbuild";
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { packedText } from "./packed-text.ts";

const root = fileURLToPath(new URL("..", import.meta.url));
/** The path of the built files. */
const builtFile: string = `${root}core/console/assets.ts`;

/** Returns the files of the console that the sources give, by their names. */
export async function consoleFiles(): Promise<Readonly<Record<string, string>>> {
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
  return {
    "": readFileSync(`${root}console/index.html`, "utf8"),
    portal: readFileSync(`${root}console/portal.html`, "utf8"),
    "app.js": textOf("app.js"),
    "portal.js": textOf("portal.js"),
    "app.css": style.outputFiles[0]?.text ?? "",
  };
}

/** Returns the text of {@link builtFile} for these files. */
function builtText(files: Readonly<Record<string, string>>): string {
  const entries = Object.entries(files).map(([name, text]) => {
    const { tag, gzip } = packedText(text);
    return `  ${JSON.stringify(name)}: {\n    tag: "${tag}",\n    gzip: "${gzip}",\n  },\n`;
  });
  return `${HEAD}${entries.join("")}};\n`;
}

const HEAD = `// Built from console/ by \`npm run console\`: change it there.
import type { PackedText } from "../http/built-text.ts";

/** The files of the web console by name; the empty one is its page. */
export const assets: Readonly<Record<string, PackedText>> = {
`;

if (import.meta.main) writeFileSync(builtFile, builtText(await consoleFiles()));
