import { expect, test } from "vitest";

function detected(): string {
  if ("Deno" in globalThis) return "deno";
  if ("Bun" in globalThis) return "bun";
  if (navigator.userAgent === "Cloudflare-Workers") return "workers";
  return navigator.userAgent.startsWith("Node.js/") ? "node" : "unknown";
}

test("the suite runs on the runtime that its configuration names", () => {
  expect(detected()).toBe(process.env["CAUSEY_RUNTIME"]);
});
