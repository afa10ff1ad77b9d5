import { ApiError } from "../../http/api-error.ts";
import type { Step } from "../call/call.ts";
import { headerValue } from "../wire/header-hygiene.ts";
import { providers } from "./table.ts";

/**
 * The step with the path, query and host that its provider's header names, if it has one (`addressIn` of its row).
 * Throws `invalid_request` for an address that is not one of the provider's.
 */
export function withNamedAddress(step: Step): Step {
  const row = Object.hasOwn(providers, step.slug) ? providers[step.slug]?.addressIn : undefined;
  const address = row === undefined ? null : headerValue(step.headers, row.header);
  if (row === undefined || address === null) return step;
  // Not parsed as a URL: the path goes on as it was written, and no form of a host but the plain one is taken.
  const [, host = "", rest = "", query = ""] =
    /^https:\/\/([^/?#]{1,253})(?:\/([^?#]*))?(\?[^#]*)?$/i.exec(address) ?? [];
  if (!row.hosts.test(host.toLowerCase())) {
    throw new ApiError("invalid_request", {
      message: `Header ${row.header}: expected an https address of this provider`,
    });
  }
  const headers = step.headers.filter(([name]) => name !== row.header);
  return { ...step, origin: `https://${host.toLowerCase()}`, rest, query, headers };
}
