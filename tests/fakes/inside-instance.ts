import type { ActorContext, Platform } from "../../core/ports.ts";
import { instanceTables } from "../../core/search/state/tables.ts";

/** Runs something inside an actor that has the tables of a search instance. */
export async function insideInstance<T>(
  { actors }: Platform,
  run: (context: ActorContext) => Promise<T>,
): Promise<T> {
  let result: { readonly value: T } | undefined;
  actors.define({
    name: "inside-instance",
    schema: instanceTables,
    start: (context) => ({
      methods: {
        run: async () => {
          result = { value: await run(context) };
          return null;
        },
      },
    }),
  });
  await actors.get("inside-instance", "one").call("run");
  if (result === undefined) throw new Error("The actor did not run");
  return result.value;
}
