import { existsSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { manifestOf } from "./package-manifest.ts";

/**
 * Returns where a project gets causey from: the place from which this command itself was installed where that is a tarball,
 * a folder or an address, as `npx ./causey.tgz` does it; else the version from the registry.
 */
export function causeySpec(root: string, version: string): string {
  const folder = dirname(dirname(root));
  const isInstalled = root.replaceAll("\\", "/").endsWith("/node_modules/causey");
  if (!isInstalled || !existsSync(join(folder, "package.json"))) return `^${version}`;
  const { dependencies = {}, devDependencies = {} } = manifestOf(folder);
  const spec = dependencies["causey"] ?? devDependencies["causey"] ?? "";
  if (spec.startsWith("file:")) return `file:${resolve(folder, spec.slice("file:".length))}`;
  return spec.includes(":") ? spec : `^${version}`;
}

/** Whether a project gets causey from the registry, by a version. */
export function isFromRegistry(spec: string): boolean {
  return !/[:/\\]|\.tgz$/u.test(spec);
}
