import { goneResponse, deprecateDocument } from "../../core/deprecations/deprecate-document.ts";
import { schedule } from "../../core/deprecations/phase.ts";
import { deprecationTable } from "../../core/deprecations/table/table.ts";
import { failureWords } from "../../core/net/network-failure.ts";
import { errorKinds } from "../../core/http/codes.ts";
import { VERSION } from "../../core/version.ts";
import { uploadSchema } from "../../core/rendering/upload/upload-schema.ts";
import type { AnswerForm, Operation } from "./operation.ts";
import { jsonSchemaOf } from "./json-schema.ts";
import { operations } from "./operations.ts";
import { bodySchemas } from "./schemas.ts";
import { memberSchemas } from "./type-schema.ts";

type Json = Readonly<Record<string, unknown>>;

/** The JSON Schema of each request body, by its name. */
export const bodies: Readonly<Record<string, Json>> = Object.fromEntries(
  Object.entries(bodySchemas).map(([name, schema]) => [name, jsonSchemaOf(schema)]),
);

/** The JSON Schema of each answer, by its name. */
export const answers: Readonly<Record<string, Json>> = memberSchemas(
  new URL("answers.ts", import.meta.url),
  "Answers",
  (body, member) => Object(Object(bodies[body])["properties"])[member],
);

/** The tags by what a path holds. */
const tags: readonly (readonly [pattern: RegExp, tag: string])[] = [
  [/^\/v1\/|\/ai-gateway\/|\/ai\//, "Gateway"],
  [/\/browser-(?:rendering|run)\//, "Rendering"],
  [/\/ai-search\//, "Search"],
  [/\/webhooks|\/webhook-portal/, "Webhooks"],
  [/^\/agents\//, "Agents"],
  [/\/deprecations/, "Deprecations"],
  [/\/accounts(?:$|\/[^/]+(?:$|\/tokens))|\/user\//, "Tokens and accounts"],
];

/** The tag of operations that have ended. */
const RETIRED = "Retired";

/** Returns the tag of a path. */
export function tagOf(path: string): string {
  return tags.find(([pattern]) => pattern.test(path))?.[1] ?? "Platform";
}

/** Writes a route of Hono as OpenAPI does. */
export function templateOf(route: string): string {
  return route.replaceAll(/:(\w+)(?:\{[^}]*\})?/g, "{$1}");
}

/** Builds the document: OpenAPI 3.1, whose schemas are those that check the bodies. */
export function openApiDocument(): Json {
  const paths: Record<string, Record<string, unknown>> = {};
  for (const [key, operation] of Object.entries(operations)) {
    const [method = "", route = ""] = key.split(" ");
    const path = templateOf(route);
    (paths[path] ??= {})[method.toLowerCase()] = operationObject(method, path, operation);
  }
  const tagNames = [...new Set(Object.keys(paths).map(tagOf)), RETIRED];
  Object.assign(paths, retiredPaths());
  const document = {
    openapi: "3.1.0",
    info: {
      title: "causey",
      version: VERSION,
      description:
        "Model gateway, page rendering, search, webhooks with stateful agents, and API deprecations.",
      license: { name: "MIT", identifier: "MIT" },
    },
    servers: [{ url: "/" }],
    security: [{ token: [] }],
    tags: tagNames.map((name) => ({ name })),
    paths,
    components: {
      securitySchemes: {
        token: {
          type: "http",
          scheme: "bearer",
          description: "An API token, or a JWT where the server takes them",
        },
        gatewayToken: {
          type: "apiKey",
          in: "header",
          name: "cf-aig-authorization",
          description:
            "Bearer and a token, for gateways that authenticate; Authorization then carries the provider's key",
        },
      },
      schemas: { ...bodies, ...answers, ...envelopes, Gone: gone },
      responses: {
        Error: {
          description: "The request was not served",
          content: json({ $ref: "#/components/schemas/Error" }),
        },
      },
    },
  };
  return { ...deprecateDocument(document) };
}

/** Describes the endpoints that only answer 410. */
function retiredPaths(): Record<string, Record<string, unknown>> {
  const paths: Record<string, Record<string, unknown>> = {};
  for (const entry of schedule(deprecationTable)) {
    const [method = "*"] = entry.methods;
    if (entry.kind !== "endpoint" || method === "*") continue;
    const path = `/client/v4${entry.path}`;
    const parameters = pathParameters(path);
    (paths[path] ??= {})[method.toLowerCase()] = {
      operationId: idOf(method, path),
      summary: `Retired on ${entry.enforceFrom}`,
      tags: [RETIRED],
      ...(parameters.length > 0 && { parameters }),
      responses: {
        "410": goneResponse(entry, json({ $ref: "#/components/schemas/Gone" })),
        default: { $ref: "#/components/responses/Error" },
      },
    };
  }
  return paths;
}

function pathParameters(path: string): Json[] {
  return [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
    name,
    in: "path",
    required: true,
    schema: { type: "string" },
  }));
}

function operationObject(method: string, path: string, operation: Operation): Json {
  const {
    summary,
    body,
    freeBody,
    bodyOptional = false,
    isPublic = false,
    status = 200,
  } = operation;
  const success = [status].flat().map((one) => [one, answerOf(operation)]);
  const parameters = [
    ...pathParameters(path),
    ...(operation.query ?? []).map((name) => ({ name, in: "query", schema: { type: "string" } })),
  ];
  const isModelCall = path.startsWith("/v1/");
  return {
    operationId: idOf(method, path),
    summary,
    tags: [tagOf(path)],
    ...(parameters.length > 0 && { parameters }),
    ...((body ?? freeBody) !== undefined && {
      requestBody: { required: !bodyOptional, content: contentOf(operation) },
    }),
    ...(isPublic && { security: [] }),
    ...(isModelCall && { security: [{}, { gatewayToken: [] }] }),
    responses: {
      ...Object.fromEntries(success),
      default: { $ref: "#/components/responses/Error" },
    },
  };
}

/** Returns the name of which generators of clients make a function: unique and stable. */
function idOf(method: string, path: string): string {
  const words = path
    .replace(/^\/client\/v4\/accounts\/\{account_id\}/, "")
    .replace(/^\/client\/v4/, "")
    .split(/[^A-Za-z0-9]+/)
    .filter((word) => word !== "");
  return [method.toLowerCase(), ...words]
    .map((word, at) => (at === 0 ? word : `${word.charAt(0).toUpperCase()}${word.slice(1)}`))
    .join("");
}

function contentOf({ body, freeBody, example, isUpload = false }: Operation): Json {
  if (freeBody === "form") {
    const properties = {
      file: { type: "string", contentMediaType: "application/octet-stream" },
      metadata: { type: "string", description: "JSON" },
      wait_for_completion: { type: "string", enum: ["true", "false"] },
    };
    return {
      "multipart/form-data": { schema: { type: "object", required: ["file"], properties } },
    };
  }
  const schema = body === undefined ? {} : { $ref: `#/components/schemas/${body}` };
  return {
    "application/json": { schema, ...(example !== undefined && { example }) },
    ...(isUpload && { "multipart/form-data": uploadOf(schema) }),
  };
}

/** Describes a form with a page and its files: `options` is what the body is otherwise, without the page. */
function uploadOf(body: Json): Json {
  const form = jsonSchemaOf(uploadSchema);
  const properties = { ...Object(form["properties"]), options: body };
  return {
    schema: { ...form, properties },
    encoding: { options: { contentType: "application/json" } },
  };
}

function json(schema: Json): Json {
  return { "application/json": { schema } };
}

function answerOf(operation: Operation): Json {
  const { answer = "envelope" } = operation;
  const text = { schema: { type: "string" } };
  const whole = json(resultOf(operation));
  const contents: Readonly<Record<AnswerForm, readonly [string, Json]>> = {
    envelope: ["The result in an envelope", json(envelopeOf(operation, {}))],
    rendering: [
      "The result in an envelope",
      json(envelopeOf(operation, { meta: { $ref: "#/components/schemas/PageMeta" } })),
    ],
    json: ["The answer", whole],
    completion: [
      'An answer; with "stream": true as events',
      { ...whole, "text/event-stream": text },
    ],
    text: ["Lines of text", { "text/plain": text }],
    binary: ["Bytes", { "application/octet-stream": {} }],
    pdf: ["The PDF, or its parts in an archive", { "application/pdf": {}, "application/zip": {} }],
    image: ["The picture", { "image/png": {}, "image/jpeg": {}, "image/webp": {} }],
    events: ["Server-sent events", { "text/event-stream": text }],
  };
  const [description, content] = contents[answer];
  return { description, content };
}

/** Describes the answer of an operation; a provider's or an agent's own answer can be anything. */
function resultOf({ result, results }: Operation): Json {
  if (result !== undefined) return { $ref: `#/components/schemas/${result}` };
  if (results === undefined) return {};
  return { type: "array", items: { $ref: `#/components/schemas/${results}` } };
}

function envelopeOf(operation: Operation, more: Json): Json {
  const info = operation.results === undefined ? {} : { result_info: LIST_INFO };
  return {
    type: "object",
    required: ["success", "result", "errors", "messages"],
    properties: {
      success: { const: true },
      result: resultOf(operation),
      errors: { type: "array", maxItems: 0 },
      messages: NOTES,
      ...info,
      ...more,
    },
  };
}

const LIST_INFO = { $ref: "#/components/schemas/ListInfo" };
const NOTES = { $ref: "#/components/schemas/Notes" };

const note = {
  type: "object",
  required: ["code", "message"],
  properties: {
    code: { type: "integer" },
    message: { type: "string" },
    type: { type: "null" },
  },
};
const whole = { type: "integer", minimum: 0 };

/** The parts of envelopes, and the body of an error. */
const envelopes = {
  Notes: { type: "array", items: note, description: "Among others, fields that were ignored" },
  ListInfo: {
    type: "object",
    description: "For a list: its page, or the cursor of the next one",
    properties: {
      page: whole,
      per_page: whole,
      count: whole,
      total_count: whole,
      total_pages: whole,
      limit: whole,
      offset: whole,
      cursor: { type: ["string", "null"] },
    },
  },
  Error: {
    type: "object",
    required: ["success", "result", "errors", "messages"],
    properties: {
      success: { const: false },
      result: { type: "null" },
      errors: {
        type: "array",
        minItems: 1,
        items: {
          ...note,
          properties: {
            ...note.properties,
            code: { enum: codes() },
            failure: {
              enum: Object.keys(failureWords),
              description: "If a provider did not answer: the step of the connection that failed",
            },
          },
        },
      },
      messages: { type: "array", items: note },
    },
  },
};

/** The body of the answer of an endpoint that has ended: an error that says what replaces it. */
const gone = {
  ...envelopes.Error,
  properties: {
    ...envelopes.Error.properties,
    errors: {
      type: "array",
      minItems: 1,
      items: {
        ...note,
        properties: { ...note.properties, documentation_url: { type: "string" } },
      },
    },
    deprecation: {
      type: "object",
      required: ["id", "date", "eol", "replacement", "rule"],
      properties: {
        id: { type: "string" },
        date: { type: ["string", "null"], description: "The day of the announcement" },
        eol: { type: ["string", "null"], description: "The day of the end" },
        replacement: {
          type: ["array", "null"],
          items: {
            type: "object",
            properties: { method: { type: "string" }, path: { type: "string" } },
          },
        },
        rule: { type: ["string", "null"], description: "The announcement, in its words" },
      },
    },
  },
};

function codes(): number[] {
  return [...new Set(Object.values(errorKinds).map(([, code]) => code))].toSorted((a, b) => a - b);
}
