// bun run examples/bun/main.ts starts the program beside it, in a clone after npm run build
import { start } from "../start.ts";

await start(() => import("./server.ts"));
