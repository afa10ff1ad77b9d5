/** The parts of Deno that are used here, whose types the other runtimes lack. */
interface DenoGlobal {
  readonly permissions: {
    querySync(asked: { name: "run"; command?: string }): { readonly state: string };
  };
  readonly stdout: DenoStream;
  readonly stderr: DenoStream;
}

/** A stream of Deno's process. */
export interface DenoStream {
  write(bytes: Uint8Array): Promise<number>;
}

/** Returns Deno's own global; null on Node and Bun. */
export function denoGlobal(): DenoGlobal | null {
  if (!("Deno" in globalThis)) return null;
  // `as`: the types of Node know no Deno.
  return (globalThis as unknown as { readonly Deno: DenoGlobal }).Deno;
}
