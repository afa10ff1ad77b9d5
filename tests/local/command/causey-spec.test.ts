import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, inject, it } from "vitest";
import { causeySpec, isFromRegistry } from "../../../adapters/cli/init/causey-spec.ts";

/** A folder in which causey is installed as its manifest says; returns the folder of the package. */
function installed(manifest: object): { readonly folder: string; readonly root: string } {
  const folder = mkdtempSync(join(inject("scratch"), "spec-"));
  const root = join(folder, "node_modules/causey");
  mkdirSync(root, { recursive: true });
  writeFileSync(join(folder, "package.json"), JSON.stringify(manifest));
  return { folder, root };
}

describe("where a made project gets causey from", () => {
  it("is the tarball that the command was installed from", () => {
    const { folder, root } = installed({ dependencies: { causey: "file:../made/causey.tgz" } });
    expect(causeySpec(root, "0.1.0")).toBe(`file:${join(folder, "../made/causey.tgz")}`);
  });

  it("is the address that the command was installed from", () => {
    const address = "https://example.com/causey.tgz";
    const { root } = installed({ devDependencies: { causey: address } });
    expect(causeySpec(root, "0.1.0")).toBe(address);
  });

  it.each([{ dependencies: { causey: "^0.1.0" } }, {}])(
    "is the registry's version with %j",
    (manifest) => {
      expect(causeySpec(installed(manifest).root, "0.1.0")).toBe("^0.1.0");
    },
  );

  it("is the registry's version in a clone, whatever is above it", () => {
    const { folder } = installed({ dependencies: { causey: "file:elsewhere" } });
    expect(causeySpec(join(folder, "clone"), "0.1.0")).toBe("^0.1.0");
  });

  it.each([
    ["^0.1.0", true],
    ["latest", true],
    ["file:/tmp/causey.tgz", false],
    ["./causey.tgz", false],
    ["https://example.com/causey.tgz", false],
  ])("%s is from the registry: %s", (spec, isFrom) => {
    expect(isFromRegistry(spec)).toBe(isFrom);
  });
});
