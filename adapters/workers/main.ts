import { mainContent } from "../../core/rendering/extract/mod.ts";
import { type ConfiguredEnv, fromEnv } from "./from-env.ts";
import { worker, type WorkerHandler } from "./worker.ts";

export { CauseyObject } from "./objects/causey-object.ts";
export { control } from "./control.ts";

/** The product as a Worker: what `npm run serve:workers` runs. */
const product: WorkerHandler = worker((env: ConfiguredEnv) =>
  fromEnv(env, { extract: mainContent }),
);
export default product;
