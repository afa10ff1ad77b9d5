import { readFileSync } from "node:fs";
import { join } from "node:path";
import * as v from "valibot";

/** The manifest of a package, as far as `causey init` reads it: this one, an example's, and that of the folder it is installed in. */
export interface PackageManifest {
  readonly version?: string | undefined;
  readonly engines?: Names | undefined;
  readonly dependencies?: Names | undefined;
  readonly peerDependencies?: Names | undefined;
  readonly devDependencies?: Names | undefined;
}

type Names = Readonly<Record<string, string>>;

const names = v.optional(v.record(v.string(), v.string()));
const manifestSchema: v.GenericSchema<unknown, PackageManifest> = v.object({
  version: v.optional(v.string()),
  engines: names,
  dependencies: names,
  peerDependencies: names,
  devDependencies: names,
});

export function manifestOf(folder: string): PackageManifest {
  return v.parse(manifestSchema, JSON.parse(readFileSync(join(folder, "package.json"), "utf8")));
}
