import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ApiError } from "../../../../core/http/api-error.ts";
import { responseNote } from "../../../../core/http/response-note.ts";
import { TransportError } from "../../../../core/net/transport-error.ts";
import { providerFailed } from "../../../../core/gateway/call/attempt.ts";
import {
  chat,
  type GatewayUnderTest,
  gatewayUnderTest,
  jsonInit,
} from "../../../fakes/gateway-app.ts";

const refused = (): TransportError =>
  TransportError.unreachable(
    Object.assign(new Error("connect ECONNREFUSED 10.1.2.3:11434"), { code: "ECONNREFUSED" }),
  );

describe("a provider that gives no answer", () => {
  let gate: GatewayUnderTest;
  beforeAll(async () => {
    gate = await gatewayUnderTest();
  });
  afterAll(() => gate.close());

  it("says in its answer which step failed and what helps, and in log and row what the runtime said", async () => {
    gate.transport.behave = () => Promise.reject(refused());
    const headers = { "cf-aig-event-id": "refused" };
    const response = await gate.send("open/openai/chat/completions", jsonInit(chat, headers));
    expect(response.status).toBe(502);
    const text = await response.text();
    expect(JSON.parse(text)).toMatchObject({
      errors: [
        {
          code: 2005,
          failure: "refused",
          message:
            'Failed to get response from provider "openai": The connection was refused (refused). Check host and port, whether the service runs, and firewalls',
        },
      ],
    });
    expect(text).not.toContain("10.1.2.3");
    expect(responseNote(response)?.error?.options.reason).toBe(
      'Failed to get response from provider "openai": refused: The connection was refused: connect ECONNREFUSED 10.1.2.3:11434',
    );
    const [row] = await gate.rowsOf("open", "refused", 1);
    expect(row).toMatchObject({
      success: false,
      note: "refused: The connection was refused: connect ECONNREFUSED 10.1.2.3:11434",
    });
  });

  it("says so in the format of a chat too", async () => {
    const response = await gate.send(
      "open/compat/chat/completions",
      jsonInit({ model: "openai/gpt-4o", messages: [{ role: "user", content: "x" }] }),
    );
    expect(response.status).toBe(502);
    expect(JSON.stringify(await response.json())).toContain("The connection was refused (refused)");
  });
});

it("what is no failure of the network is told in our own words", () => {
  const messageOf = (cause: TransportError | { status: number }): string =>
    providerFailed(
      cause instanceof TransportError ? cause : { ...cause, headers: [], body: null },
      "openai",
      502,
    ).message;
  expect(
    messageOf(new TransportError("broken", "The provider's answer is not a JSON object")),
  ).toBe(
    'Failed to get response from provider "openai": broken: The provider\'s answer is not a JSON object',
  );
  expect(messageOf({ status: 199 })).toBe(
    'Failed to get response from provider "openai": its answer has the status 199',
  );
});

it("a body that was refused on its way stays that refusal", () => {
  const cause = new ApiError("too_large");
  const error = new TransportError("broken", "x", { cause });
  expect(providerFailed(error, "openai", 502)).toBe(cause);
});
