import { segmentOf } from "../providers/author-segment.ts";
import { AUTO_MODEL } from "../providers/unified-step.ts";
import { priceLists } from "../prices/prices.ts";
import { ECHO } from "../providers/table.ts";

/** The models whose names are known, in OpenAI's list format with names as `compat` takes them; others work too. */
export function modelList(demo: boolean, auto: boolean): object {
  const names = priceLists.flatMap(({ family, table }) =>
    Object.keys(table).map((name) => `${segmentOf(family)}\n${name}`),
  );
  const known = [...new Set(names)].map((one) => {
    const [slug = "", name = ""] = one.split("\n");
    return model(slug, name);
  });
  if (auto) known.push({ id: AUTO_MODEL, object: "model", created: 0, owned_by: "causey" });
  if (demo) known.push(model(ECHO, "echo-demo"));
  return { object: "list", data: known };
}

function model(slug: string, name: string): object {
  return { id: `${slug}/${name}`, object: "model", created: 0, owned_by: slug };
}
