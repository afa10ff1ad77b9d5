import type { Answers } from "../scripts/openapi/answers.ts";
import { askResult } from "./api.ts";
import type { FieldSpec } from "./form.tsx";
import { accountPath, change, changesOf, type PageProps, useLoaded } from "./parts.tsx";
import { Records } from "./records.tsx";

type CustomProvider = Answers["StoredCustomProvider"];

const fields = {
  name: { label: "Name" },
  slug: {
    label: "Short name",
    hint: "Requests call it custom-{short name}",
    input: { pattern: String.raw`[a-z0-9](?:[a-z0-9\-]{0,62}[a-z0-9])?` },
  },
  url: { label: "Address", input: { type: "url", placeholder: "https://models.example.com/v1" } },
  enable: { label: "Enabled", kind: "check" },
  headers: {
    label: "Headers as JSON",
    kind: "code",
    isMore: true,
    hint: 'Sent with each request: {"authorization": "Bearer …"}. Empty: they stay as they are.',
  },
  description: { label: "Description", isMore: true },
} satisfies Record<string, FieldSpec>;

/** Providers of your own: any server that speaks a known format. */
export function CustomProviders({ facts, live }: PageProps) {
  const root = `${accountPath(facts.account)}/ai-gateway/custom-providers`;
  const providers = useLoaded(
    () => askResult<readonly CustomProvider[]>(`${root}?per_page=50`),
    [changesOf(live, "gateway")],
  );
  return (
    <Records
      id="custom-providers-title"
      title="Custom providers"
      noun="provider"
      none="No provider of your own yet. Any server that speaks OpenAI's format can be one, with the keys, limits and log of your gateways."
      of={providers}
      head={["Name", "In a request", "Address", "State"]}
      keyOf={({ id }) => id}
      nameOf={({ slug }) => slug}
      cellsOf={(one) => [
        one.name,
        <code>{`custom-${one.slug}`}</code>,
        one.base_url,
        one.enable ? "on" : <strong class="warn-text">off</strong>,
      ]}
      fieldsOf={() => fields}
      initial={{ enable: "on" }}
      valuesOf={(one) => ({
        name: one.name,
        slug: one.slug,
        url: one.base_url,
        enable: one.enable ? "on" : "",
        description: one.description ?? "",
      })}
      onSave={({ name, slug, url, enable, headers, description }, row) =>
        change(row === null ? "POST" : "PATCH", row === null ? root : `${root}/${row.id}`, {
          name,
          slug,
          base_url: url,
          enable: enable === "on",
          description: description === "" ? null : description,
          ...(headers.trim() === "" ? {} : { headers }),
        })
      }
      onDelete={({ id }) => change("DELETE", `${root}/${id}`)}
      loss="Requests that name it will fail."
      disabled={facts.readOnly}
    />
  );
}
