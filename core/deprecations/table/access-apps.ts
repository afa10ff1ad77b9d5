import { destinationsToDomains, domainsToDestinations } from "../translate/access-destinations.ts";
import type { Row } from "./entry.ts";

/** The list of domains of an account's or a zone's applications. */
function selfHostedDomains(level: "account" | "zone"): Row {
  const apps = `/${level}s/{${level}_id}/access/apps`;
  return {
    row: `access-apps-self-hosted-domains-${level}`,
    date: "2025-11-21",
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
      { on: `GET ${apps}` },
      { on: `POST ${apps}`, class: "A", where: "request and response" },
      { on: `GET ${apps}/{app_id}`, except: ["ca"] },
      {
        on: `PUT ${apps}/{app_id}`,
        except: ["ca"],
        class: "A",
        where: "request and response",
      },
    ],
  };
}

/** Access applications and bookmarks. */
export const accessApps: readonly Row[] = [
  selfHostedDomains("account"),
  selfHostedDomains("zone"),
  {
    row: "access-bookmarks",
    date: "2023-03-19",
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
