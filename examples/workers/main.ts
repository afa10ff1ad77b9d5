// npx wrangler dev --config examples/workers/wrangler.jsonc
import { fromEnv, worker } from "causey/workers";
export { CauseyObject } from "causey/workers";

// An API token with every permission is the secret CAUSEY_TOKEN, the JSON configuration the variable CAUSEY_CONFIG.
export default worker(fromEnv);
