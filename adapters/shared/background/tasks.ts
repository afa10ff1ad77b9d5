import type { LongTask, Plain } from "../../../core/ports.ts";
import { documentMarkdown } from "../../../core/rendering/markdown.ts";
import { staticMarkdown } from "../../../core/rendering/static-markdown.ts";

type Named = Pick<LongTask<never, Plain>, "name" | "load">;

/** What threads can do, by name. */
export const tasks: ReadonlyMap<string, Named> = new Map(
  [documentMarkdown, staticMarkdown].map((task): [string, Named] => [task.name, task]),
);
