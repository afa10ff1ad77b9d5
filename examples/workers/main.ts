// npx wrangler dev --config examples/workers/wrangler.jsonc
import { worker } from "causey/workers";
export { CauseyObject } from "causey/workers";

export default worker({ accountId: "acme" });
