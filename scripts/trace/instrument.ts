import { readFileSync } from "node:fs";
import { registerHooks } from "node:module";
import { fileURLToPath } from "node:url";
import { parseSync, Visitor, type ArrowFunctionExpression, type Function } from "oxc-parser";

/** Receives each entry into a function: the file, from the repository's root, and the function's name and line. */
export type OnEnter = (file: string, name: string) => void;

declare global {
  /** Called by instrumented code with the number of the function that it enters. */
  var tracedEntry: ((id: number) => void) | undefined;
}

/** Built files, and functions whose text runs elsewhere: in a page, or in another process. */
const UNTOUCHED = /console\/assets|openapi\/document|page-scripts|node-script/;

/** Makes every function of core and adapters report when it is entered. Only modules imported from now on take part. */
export function instrument(root: string, onEnter: OnEnter): void {
  const functions: { readonly file: string; readonly name: string }[] = [];
  globalThis.tracedEntry = (id) => {
    const { file, name } = functions[id]!;
    onEnter(file, name);
  };
  registerHooks({
    load(url, context, next) {
      const file = url.startsWith("file://") ? fileURLToPath(url).slice(root.length) : "";
      if (!/^(?:core|adapters)\/.*\.ts$/.test(file) || UNTOUCHED.test(file))
        return next(url, context);
      const source = instrumented(file, readFileSync(root + file, "utf8"), (name) => {
        return functions.push({ file, name }) - 1;
      });
      return { format: "module-typescript", source, shortCircuit: true };
    },
  });
}

/** The source with a call at the begin of each function's body; lines stay where they are. */
function instrumented(file: string, text: string, numberOf: (name: string) => number): string {
  const edits: { readonly at: number; readonly text: string }[] = [];
  const lineOf = (offset: number): number => text.slice(0, offset).split("\n").length;
  /** The name that a function gets from where it stands, by the position of the function. */
  const names = new Map<number, string>();
  const enter = (node: Function | ArrowFunctionExpression): void => {
    const { body, start } = node;
    if (body === null) return;
    const own = node.id?.name ?? names.get(start) ?? "=>";
    const call = `tracedEntry(${numberOf(`${own}:${lineOf(start)}`)})`;
    if (body.type === "BlockStatement") edits.push({ at: body.start + 1, text: `${call};` });
    else edits.push({ at: body.start, text: `(${call},(` }, { at: body.end, text: "))" });
  };
  const visitor = new Visitor({
    VariableDeclarator({ id, init }) {
      if (id.type === "Identifier" && init !== null) names.set(init.start, id.name);
    },
    Property({ key, value }) {
      if (key.type === "Identifier") names.set(value.start, key.name);
    },
    MethodDefinition({ key, kind, value }) {
      if (key.type === "Identifier")
        names.set(value.start, kind === "constructor" ? "new" : key.name);
    },
    FunctionDeclaration: enter,
    FunctionExpression: enter,
    ArrowFunctionExpression: enter,
  });
  visitor.visit(parseSync(file, text).program);
  let result = "";
  let at = 0;
  for (const edit of edits.toSorted((a, b) => a.at - b.at)) {
    result += text.slice(at, edit.at) + edit.text;
    at = edit.at;
  }
  return result + text.slice(at);
}
