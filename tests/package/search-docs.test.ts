import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { root } from "../config/shared.ts";
import { gatewayModelsConfig } from "../fakes/search-gateway-config.ts";

test("docs/search.md shows the tested configuration of models behind a gateway", () => {
  const page = readFileSync(`${root}docs/search.md`, "utf8");
  const blocks = [...page.matchAll(/^```json\n([^]*?)^```$/gmu)].map(([, text = ""]) => text);
  const shown = blocks.find((text) => text.includes('"chatModel"')) ?? "null";
  expect(JSON.parse(shown)).toEqual(gatewayModelsConfig);
});
