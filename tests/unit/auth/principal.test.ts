import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { bearerToken } from "../../../core/auth/bearer.ts";
import { permissionGroups } from "../../../core/auth/permission-groups.ts";
import { permissions } from "../../../core/auth/permissions.ts";
import { allows, type Grant, type Principal } from "../../../core/auth/principal.ts";
import { sha256Hex } from "../../../core/crypto/digest.ts";

const principal = (grants: Grant[], denials: Grant[] = []): Principal => ({
  id: "p",
  kind: "token",
  grants,
  denials,
});

describe("allows()", () => {
  it("needs the permission and the account in the same grant", () => {
    const who = principal([
      { permissions: ["AI Search Run"], accounts: ["a"] },
      { permissions: ["AI Gateway Run"], accounts: ["b"] },
    ]);
    expect(allows(who, "AI Search Run", "a")).toBe(true);
    expect(allows(who, "AI Search Run", "b")).toBe(false);
    expect(allows(who, "AI Gateway Run", "a")).toBe(false);
  });

  it("takes Edit for Read, but neither for Run, nor Read for Edit", () => {
    const editor = principal([{ permissions: ["AI Search Edit"], accounts: ["a"] }]);
    expect(allows(editor, "AI Search Read", "a")).toBe(true);
    expect(allows(editor, "AI Search Run", "a")).toBe(false);
    const reader = principal([{ permissions: ["AI Search Read"], accounts: ["a"] }]);
    expect(allows(reader, "AI Search Edit", "a")).toBe(false);
  });

  it("asks for all accounts with a star, which a list of accounts never is", () => {
    expect(
      allows(principal([{ permissions: ["*"], accounts: ["a", "b"] }]), "Account Read", "*"),
    ).toBe(false);
    expect(allows(principal([{ permissions: ["*"], accounts: ["*"] }]), "Account Read", "*")).toBe(
      true,
    );
  });

  it("lets a denial win, denies Edit with Read, and all accounts with one", () => {
    const all = { permissions: ["*"], accounts: ["*"] } as const;
    const who = principal([all], [{ permissions: ["AI Search Read"], accounts: ["a"] }]);
    expect(allows(who, "AI Search Read", "a")).toBe(false);
    expect(allows(who, "AI Search Edit", "a")).toBe(false);
    expect(allows(who, "AI Search Run", "a")).toBe(true);
    expect(allows(who, "AI Search Read", "b")).toBe(true);
    expect(allows(who, "AI Search Read", "*")).toBe(false);
  });
});

describe("permissionGroups", () => {
  it("has every permission once, with the id that its name derives", async () => {
    expect(permissionGroups.map((group) => group.name)).toEqual([...permissions]);
    for (const { id, name } of permissionGroups) {
      expect(id).toBe((await sha256Hex(`causey.permission:${name}`)).slice(0, 32));
    }
  });
});

describe("bearerToken()", () => {
  it("takes the scheme in any case", () => {
    for (const scheme of ["Bearer", "bearer", "BEARER"])
      expect(bearerToken(`${scheme} abc`)).toBe("abc");
  });

  it("refuses two header values joined, other schemes, nothing, and more than 8 KiB", () => {
    const bad = [
      null,
      "",
      "Bearer",
      "Bearer ",
      "Basic abc",
      "Bearer a, Bearer b",
      "Bearer a b",
      "Bearer ä",
      "abc",
    ];
    for (const header of bad) expect(bearerToken(header)).toBeNull();
    expect(bearerToken(`Bearer ${"a".repeat(8192)}`)).toBeNull();
  });

  it("never throws and returns only visible ASCII", () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        const token = bearerToken(`Bearer ${text}`);
        expect(token === null || /^[!-~]+$/.test(token)).toBe(true);
      }),
    );
  });
});
