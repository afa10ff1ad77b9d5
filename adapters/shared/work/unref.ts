/** Lets the process end although this timer runs. Runtimes without processes have no such method. */
export function unref(timer: unknown): void {
  if (typeof timer !== "object" || timer === null || !("unref" in timer)) return;
  if (typeof timer.unref === "function") timer.unref();
}
