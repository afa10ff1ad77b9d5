const cleanups = new Set<() => void>();

/** Runs `cleanup` when this process ends, however the benchmark ends; the result takes it back. */
export function atExit(cleanup: () => void): () => void {
  cleanups.add(cleanup);
  return () => void cleanups.delete(cleanup);
}

process.on("exit", () => {
  for (const cleanup of cleanups) cleanup();
});
for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.on(signal, () => {
    process.stderr.write(`Stopped by ${signal}: what was under way is not shown\n`);
    process.exit(1);
  });
}
