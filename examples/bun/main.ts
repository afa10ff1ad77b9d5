// bun run main.ts
import { platformApi } from "causey";
import { bunPlatform, serve } from "causey/bun";

const platform = await bunPlatform({ dataDir: Bun.env["CAUSEY_DATA_DIR"] ?? ".causey" });
const tokens = [{ token: Bun.env["CAUSEY_TOKEN"] ?? "", permissions: ["*"], accounts: ["*"] }];
const app = platformApi({ platform, accountId: "acme", tokens });
const { url } = await serve(app, { port: Number(Bun.env["PORT"] ?? 8787), platform });
console.log(`Listening on ${url}`);
