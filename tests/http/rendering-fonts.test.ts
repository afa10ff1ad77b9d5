import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, inject } from "vitest";
import { eventually } from "../cases/eventually.ts";
import { itUnless } from "../config/it-unless.ts";
import { startTarget, targetName, type Target } from "./target.ts";

const account = inject("accountId");
const token = inject("token");

async function render(server: string, name: string, body: object): Promise<Response> {
  const path = `client/v4/accounts/${account}/browser-rendering/${name}`;
  return fetch(`${server}/${path}`, {
    method: "POST",
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    body: JSON.stringify(body),
  });
}

const probe = await render(inject("baseUrl"), "content", { html: "<p>probe</p>" });
const missing = probe.status === 503 ? "there is no browser" : undefined;
// A sign that a font of this machine has is no test.
const listed = spawnSync("fc-list", [":charset=13000", "family"], { encoding: "utf8" });
const isDrawn = listed.status === 0 && listed.stdout !== "";
const drawn = isDrawn ? "a font here has hieroglyphs" : undefined;

// Where fonts are looked for as they are installed, by a program that can be played.
const played = targetName() === "workers" ? "Workers' fonts are the browser's own" : undefined;

describe("scripts that no font of the machine has", () => {
  itUnless(missing ?? played)("are told at the start, with what to install", async () => {
    const folder = mkdtempSync(join(tmpdir(), "causey-fonts-"));
    const list = '#!/bin/sh\n[ "$1" = ":lang=ja" ] || echo "A family"\n';
    writeFileSync(join(folder, "fc-list"), list, { mode: 0o755 });
    const env = { CAUSEY_TOKEN: token, PATH: `${folder}:${process.env["PATH"]}` };
    const server = await startTarget({ args: ["--account-id", account], env });
    try {
      await eventually(() => server.output().includes("fonts-noto-cjk"), "the log tells of it");
      expect(server.output()).toContain("none with Chinese, Japanese and Korean");
      expect(server.output()).not.toContain("fonts-noto-color-emoji");
    } finally {
      await server.stop();
      rmSync(folder, { recursive: true, force: true });
    }
  });
});

describe("characters that no font has", () => {
  let target: Target;

  beforeAll(async () => {
    target = await startTarget({ args: ["--account-id", account], env: { CAUSEY_TOKEN: token } });
  });

  afterAll(() => target?.stop());

  const told = (): number => target.output().split("U+13000").length - 1;

  itUnless(missing ?? drawn)(`are told once, on ${targetName()}`, async () => {
    const plain = "<p>é Ж ﬁ</p>";
    expect((await render(target.url, "pdf", { html: plain })).status).toBe(200);
    const html = `${plain}<p>\u{13000}\u{13001}</p>`;
    const font = { kind: "other scripts", character: "U+13000", install: "fonts-noto-core" };
    const header = '"other scripts";character="U+13000";install="fonts-noto-core"';
    for (const name of ["markdown", "pdf", "screenshot", "pdf"]) {
      const { status, headers } = await render(target.url, name, { html });
      const said = name === "markdown" ? null : header;
      expect([status, headers.get("x-missing-fonts")], name).toEqual([200, said]);
    }
    const snapshot = await (await render(target.url, "snapshot", { html })).json();
    expect(snapshot).toMatchObject({ meta: { missingFonts: [font] } });
    await eventually(() => told() > 0, "the log tells of the missing glyph");
    expect(told()).toBe(1);
    expect(target.output()).toContain("fonts-noto-core");
    expect(target.output()).not.toMatch(/U\+(?:00E9|0416|FB01)/u);
  });
});
