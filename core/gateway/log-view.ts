import type { SqlRow } from "../ports.ts";

/** A stored row as the management API shows it (reference, section 1.6). */
export function logView(row: SqlRow): Record<string, unknown> {
  return {
    id: row["id"],
    created_at: new Date(Number(row["created_at"])).toISOString(),
    provider: row["provider"],
    model: row["model"],
    model_type: row["model_type"],
    path: row["path"],
    request_type: row["request_type"],
    request_content_type: row["request_content_type"],
    response_content_type: row["response_content_type"],
    status_code: row["status_code"],
    success: row["success"] === 1,
    cached: row["cached"] === 1,
    duration: row["duration"],
    tokens_in: row["tokens_in"],
    tokens_out: row["tokens_out"],
    cost: row["cost"],
    custom_cost: row["custom_cost"] === 1,
    metadata: row["metadata"],
    step: row["step"],
    event_id: row["event_id"],
    user_agent: row["user_agent"],
    authentication: row["authentication"] === 1,
    dlp_action: row["dlp_action"],
    feedback: row["feedback"],
    score: row["score"],
  };
}

/** Characters of each body in a single row's answer; `…/request` and `…/response` have all that is kept. */
const HEAD = 4096;

/** A single row, with the beginning of both bodies. */
export function logDetail(row: SqlRow): Record<string, unknown> {
  return { ...logView(row), ...head(row, "request"), ...head(row, "response") };
}

function head(row: SqlRow, side: "request" | "response"): Record<string, unknown> {
  const text = String(row[side] ?? "");
  return {
    [`${side}_head`]: text.slice(0, HEAD),
    [`${side}_head_complete`]: row[`${side}_complete`] === 1 && text.length <= HEAD,
    [`${side}_size`]: row[`${side}_size`],
  };
}
