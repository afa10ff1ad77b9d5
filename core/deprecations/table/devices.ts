import { idsToQuery } from "../translate/endpoint-calls.ts";
import type { Row } from "./entry.ts";

/** Devices to registrations. */
export const devices: readonly Row[] = [
  {
    row: "devices",
    date: null,
    eol: "2025-11-11",
    class: "A",
    lossless: "conditional",
    rule: "Not supported on accounts with multi-user mode enabled.",
    routes: [
      {
        on: "GET /accounts/{account_id}/devices",
        to: [
          "GET /accounts/{account_id}/devices/physical-devices",
          "GET /accounts/{account_id}/devices/registrations",
        ],
      },
      {
        on: "GET /accounts/{account_id}/devices/{device_id}",
        to: [
          "GET /accounts/{account_id}/devices/physical-devices/{device_id}",
          "GET /accounts/{account_id}/devices/registrations/{registration_id}",
        ],
        except: [
          "deployment-groups",
          "physical-devices",
          "ip-profiles",
          "networks",
          "policies",
          "policy",
          "posture",
          "registrations",
          "settings",
        ],
      },
      {
        on: "GET /accounts/{account_id}/devices/{device_id}/override_codes",
        to: ["GET /accounts/{account_id}/devices/registrations/{registration_id}/override_codes"],
      },
      {
        on: "POST /accounts/{account_id}/devices/revoke",
        to: ["POST /accounts/{account_id}/devices/registrations/revoke"],
        rewriting: idsToQuery("/accounts/{account_id}/devices/registrations/revoke"),
      },
      {
        on: "POST /accounts/{account_id}/devices/unrevoke",
        to: ["POST /accounts/{account_id}/devices/registrations/unrevoke"],
        rewriting: idsToQuery("/accounts/{account_id}/devices/registrations/unrevoke"),
      },
    ],
  },
];
