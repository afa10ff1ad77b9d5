// npm install && npx wrangler dev, on Node 22 or newer
import { fromEnv, worker } from "causey/workers";
export { CauseyObject } from "causey/workers";

// An API token with every permission is the secret CAUSEY_TOKEN, the JSON configuration the variable CAUSEY_CONFIG.
export default worker(fromEnv);
