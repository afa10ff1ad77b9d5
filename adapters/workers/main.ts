import { webConsole } from "../../core/console/mod.ts";
import { apiDescription } from "../../core/openapi/mod.ts";
import { mainContent } from "../../core/rendering/extract/mod.ts";
import { type ConfiguredEnv, fromEnv } from "./from-env.ts";
import { worker, type WorkerHandler } from "./worker.ts";

export { CauseyObject } from "./objects/causey-object.ts";
export { control } from "./control.ts";

/** The product as a Worker: what `npm run serve:workers` runs. */
const product: WorkerHandler = worker((env: ConfiguredEnv) =>
  fromEnv(env, { extract: mainContent, console: webConsole, openApi: apiDescription }),
);
export default product;
