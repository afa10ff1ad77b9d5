import type { FoundChromium } from "./chromium-find.ts";

/** What this asks of Deno, whose types the other runtimes lack. */
interface DenoPermissions {
  readonly permissions: {
    querySync(asked: { name: "run"; command?: string }): { readonly state: string };
  };
}

/** Why this process may not start a browser: Deno without the permission. Null where it may. */
export function runRefusal(found: FoundChromium): string | null {
  if (!("Deno" in globalThis)) return null;
  // `as`: the types of Node know no Deno.
  const { permissions } = (globalThis as unknown as { readonly Deno: DenoPermissions }).Deno;
  // Deno refuses a list of programs where one gets its libraries from us.
  const isListed = found.kind === "installed";
  const asked = { name: "run", ...(isListed && { command: found.path }) } as const;
  if (permissions.querySync(asked).state === "granted") return null;
  return `Deno may not start the browser: add --allow-run${isListed ? `=${found.path}` : ""}`;
}
