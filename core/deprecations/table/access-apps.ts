import { destinationsToDomains, domainsToDestinations } from "../translate/access-destinations.ts";
import type { Row } from "./entry.ts";

/** Access applications and bookmarks. */
export const accessApps: readonly Row[] = [
  {
    row: "access-apps-self-hosted-domains-account",
    date: "2025-11-21",
    eol: null,
    enforceFrom: "2025-11-21",
    kind: "field",
    class: "B",
    lossless: "yes",
    fields: ["self_hosted_domains"],
    where: "response",
    leavesResponses: true,
    modernRequest: domainsToDestinations,
    oldRecord: destinationsToDomains,
    rule: "Use field destinations: array of objects with type (for example public) and uri. self_hosted_domains entries count as public destinations; if destinations is given, self_hosted_domains is ignored.",
    routes: [
      { on: "GET /accounts/{account_id}/access/apps" },
      { on: "POST /accounts/{account_id}/access/apps", class: "A", where: "request and response" },
      { on: "GET /accounts/{account_id}/access/apps/{app_id}", except: ["ca"] },
      {
        on: "PUT /accounts/{account_id}/access/apps/{app_id}",
        except: ["ca"],
        class: "A",
        where: "request and response",
      },
    ],
  },
  {
    row: "access-apps-self-hosted-domains-zone",
    date: "2025-11-21",
    eol: null,
    enforceFrom: "2025-11-21",
    kind: "field",
    class: "B",
    lossless: "yes",
    fields: ["self_hosted_domains"],
    where: "response",
    leavesResponses: true,
    modernRequest: domainsToDestinations,
    oldRecord: destinationsToDomains,
    rule: "Use field destinations: array of objects with type (for example public) and uri. self_hosted_domains entries count as public destinations; if destinations is given, self_hosted_domains is ignored.",
    routes: [
      { on: "GET /zones/{zone_id}/access/apps" },
      { on: "POST /zones/{zone_id}/access/apps", class: "A", where: "request and response" },
      { on: "GET /zones/{zone_id}/access/apps/{app_id}", except: ["ca"] },
      {
        on: "PUT /zones/{zone_id}/access/apps/{app_id}",
        except: ["ca"],
        class: "A",
        where: "request and response",
      },
    ],
  },
  {
    row: "access-bookmarks",
    date: "2023-03-19",
    eol: null,
    enforceFrom: "2023-03-19",
    kind: "endpoint",
    class: "C",
    lossless: "no",
    rule: "Access applications API by app type.",
    routes: [
      {
        on: "GET /accounts/{identifier}/access/bookmarks",
        now: ["GET /accounts/{account_id}/access/apps zeroTrust.access.applications.list"],
      },
      {
        on: "GET /accounts/{identifier}/access/bookmarks/{uuid}",
        now: ["GET /accounts/{account_id}/access/apps/{app_id} zeroTrust.access.applications.get"],
      },
      {
        on: "POST /accounts/{identifier}/access/bookmarks/{uuid}",
        now: ["POST /accounts/{account_id}/access/apps zeroTrust.access.applications.create"],
      },
      {
        on: "PUT /accounts/{identifier}/access/bookmarks/{uuid}",
        now: [
          "PUT /accounts/{account_id}/access/apps/{app_id} zeroTrust.access.applications.update",
        ],
      },
      {
        on: "DELETE /accounts/{identifier}/access/bookmarks/{uuid}",
        now: [
          "DELETE /accounts/{account_id}/access/apps/{app_id} zeroTrust.access.applications.delete",
        ],
      },
    ],
  },
];
