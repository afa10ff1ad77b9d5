// Builds the programs that tests start, so that each start reads few files (`tests/config/command-file.ts`).
import { globSync } from "node:fs";
import { basename } from "node:path";
import { builtChildren } from "../tests/config/command-file.ts";
import { bundle } from "./bundle.ts";

const programs = globSync("tests/local/*-child.ts");
await bundle(
  builtChildren,
  programs.map((path) => ({ in: path, out: `children/${basename(path, ".ts")}` })),
);
