// The API below a path of a Worker of one's own.
import { Hono } from "hono";
import { worker } from "../../adapters/workers/mod.ts";
import { webConsole } from "../../core/console/mod.ts";
import { platformApi } from "../../core/mod.ts";

export { CauseyObject } from "../../adapters/workers/mod.ts";
export { control } from "../../adapters/workers/control.ts";

export default worker(() => ({
  build: (platform) =>
    new Hono().route(
      "/platform",
      platformApi({ platform, auth: "off", demo: true, console: webConsole }),
    ),
}));
