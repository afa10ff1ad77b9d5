import { useEffect, useState } from "preact/hooks";
import type { SessionFacts } from "../core/console/mod.ts";
import { ask, askResult, eventsOf } from "./api.ts";
import { AskSearch } from "./ask-search.tsx";
import { Area, Choice, Field, Form, Output, useRun } from "./form.tsx";
import { accountPath, useLoaded, Waiting } from "./parts.tsx";
import { TabList } from "./tab-list.tsx";

const tools = ["Chat", "Render", "Search", "Webhook"] as const;
type Tool = (typeof tools)[number];

/** Tries the parts by hand. */
export function PlaygroundPage({ facts }: { readonly facts: SessionFacts }) {
  const [tool, setTool] = useState<Tool>("Chat");
  return (
    <>
      <TabList label="What to try" names={tools} chosen={tool} onChoose={setTool} />
      {facts.readOnly && (
        <p class="notice">
          This session may only read: log in again without “Read only” to send something.
        </p>
      )}
      <div role="tabpanel" id="panel" aria-labelledby={`tab-${tool}`} class="panel">
        {tool === "Chat" && <Chat facts={facts} />}
        {tool === "Render" && <Render facts={facts} />}
        {tool === "Search" && <Search facts={facts} />}
        {tool === "Webhook" && <Webhook />}
      </div>
    </>
  );
}

function Chat({ facts }: { readonly facts: SessionFacts }) {
  const [gateway, setGateway] = useState("default");
  const [model, setModel] = useState("echo/echo");
  const [text, setText] = useState("Hello from the console");
  const [answer, setAnswer] = useState("");
  const [took, setTook] = useState("");
  const state = useRun();
  const send = async (signal: AbortSignal): Promise<void> => {
    setAnswer("");
    setTook("");
    const began = performance.now();
    const path = `/v1/${encodeURIComponent(facts.account)}/${encodeURIComponent(gateway)}/compat/chat/completions`;
    const json = { model, stream: true, messages: [{ role: "user", content: text }] };
    const response = await ask(path, { method: "POST", json, signal });
    let first = 0;
    for await (const { data } of eventsOf(response)) {
      if (data === "[DONE]") break;
      first ||= performance.now() - began;
      const chunk = JSON.parse(data) as { choices?: { delta?: { content?: string } }[] };
      setAnswer((before) => before + (chunk.choices?.[0]?.delta?.content ?? ""));
    }
    setTook(
      `First token after ${first.toFixed(0)} ms, complete after ${(performance.now() - began).toFixed(0)} ms.`,
    );
  };
  return (
    <div class="columns">
      <Form action="Send" state={state} onRun={send}>
        <Field label="Gateway" value={gateway} onInput={setGateway} />
        <Field
          label="Model"
          value={model}
          input={{ "aria-describedby": "model-hint" }}
          onInput={setModel}
        />
        <p id="model-hint" class="muted small">
          provider/model, e.g. openai/gpt-4o-mini; echo/echo needs no key
        </p>
        <Area label="Message" rows={5} value={text} onInput={setText} />
      </Form>
      <Output title="Answer" isEmpty={answer === ""}>
        <div class="answer" aria-live="polite" aria-busy={state.isRunning}>
          {answer}
        </div>
        {took !== "" && <p class="muted small">{took}</p>}
      </Output>
    </div>
  );
}

const formats = ["pdf", "screenshot", "markdown"] as const;
const sample =
  '<h1>Hello</h1>\n<p>A page to <b>render</b>, with <a href="https://example.com">a link</a>.</p>\n<ul><li>one</li><li>two</li></ul>';

/** The result of a rendering: a text, or the address of a file. */
interface Rendering {
  readonly format: (typeof formats)[number];
  readonly url?: string;
  readonly text?: string;
}

function Render({ facts }: { readonly facts: SessionFacts }) {
  const [html, setHtml] = useState(sample);
  const [format, setFormat] = useState<(typeof formats)[number]>("pdf");
  const [shown, setShown] = useState<Rendering | null>(null);
  const state = useRun();
  useEffect(
    () => () => {
      if (shown?.url !== undefined) URL.revokeObjectURL(shown.url);
    },
    [shown],
  );
  const send = async (signal: AbortSignal): Promise<void> => {
    const path = `/client/v4/accounts/${encodeURIComponent(facts.account)}/browser-rendering/${format}`;
    const source = /^https?:\/\/\S+$/.test(html.trim()) ? { url: html.trim() } : { html };
    const response = await ask(path, { method: "POST", json: source, signal });
    if (format === "markdown")
      setShown({ format, text: ((await response.json()) as { result: string }).result });
    else setShown({ format, url: URL.createObjectURL(await response.blob()) });
  };
  return (
    <div class="columns">
      <Form action="Render" state={state} onRun={send}>
        <Area label="HTML, or an address" rows={9} isCode value={html} onInput={setHtml} />
        <fieldset>
          <legend>As</legend>
          {formats.map((one) => (
            <label key={one} class="choice">
              <input
                type="radio"
                name="format"
                checked={format === one}
                onChange={() => setFormat(one)}
              />
              {one === "pdf" ? "PDF" : one === "markdown" ? "Markdown" : "Screenshot"}
            </label>
          ))}
        </fieldset>
      </Form>
      <Output title="Result" isEmpty={shown === null}>
        {shown !== null && <Rendered {...shown} />}
      </Output>
    </div>
  );
}

function Rendered({ format, url, text }: Rendering) {
  return (
    <>
      {text !== undefined && (
        <pre tabIndex={0} aria-label="Markdown">
          {text}
        </pre>
      )}
      {format === "screenshot" && <img src={url} alt="The rendered page" />}
      {format === "pdf" &&
        (navigator.pdfViewerEnabled ? (
          <iframe title="The PDF" src={url} />
        ) : (
          <p class="muted">This browser cannot show a PDF inside a page: download it.</p>
        ))}
      {url !== undefined && (
        <a href={url} download={format === "pdf" ? "page.pdf" : "page.png"}>
          Download
        </a>
      )}
    </>
  );
}

function Search({ facts }: { readonly facts: SessionFacts }) {
  const root = `${accountPath(facts.account)}/ai-search/instances`;
  const instances = useLoaded(() => askResult<readonly { id: string }[]>(root), [root]);
  const [chosen, setChosen] = useState("");
  const names = (instances.value ?? []).map(({ id }) => id);
  const instance = names.includes(chosen) ? chosen : names[0];
  return (
    <div class="stack">
      <Waiting of={instances} />
      {instances.value !== null && instance === undefined && (
        <p class="muted">
          No instance yet. <a href="#/search">Make one</a>, and drop files on it.
        </p>
      )}
      {instance !== undefined && (
        <>
          <div class="narrow">
            <Choice
              label="Instance"
              value={instance}
              options={Object.fromEntries(names.map((name) => [name, name]))}
              onChoose={setChosen}
            />
          </div>
          <AskSearch key={instance} path={`${root}/${encodeURIComponent(instance)}`} waiting={0} />
        </>
      )}
    </div>
  );
}

function Webhook() {
  const [source, setSource] = useState("demo");
  const [key, setKey] = useState("");
  const [body, setBody] = useState('{"entity":"demo","type":"hello"}');
  const [answer, setAnswer] = useState("");
  const state = useRun();
  const send = async (signal: AbortSignal): Promise<void> => {
    setAnswer("");
    const headers = {
      "content-type": "application/json",
      "x-signature": `sha256=${await signed(body, key)}`,
    };
    const response = await ask(`/webhooks/${encodeURIComponent(source)}`, {
      method: "POST",
      headers,
      body,
      signal,
    });
    setAnswer(`${response.status} ${await response.text()}`);
  };
  return (
    <div class="columns">
      <Form action="Sign and send" state={state} onRun={send}>
        <Field label="Source" value={source} onInput={setSource} />
        <Field
          label="Secret"
          value={key}
          input={{ type: "password", autocomplete: "off", "aria-describedby": "secret-hint" }}
          onInput={setKey}
        />
        <p id="secret-hint" class="muted small">
          Signs in this page, as the scheme “generic” does. The demo's secret is in the file
          demo-webhook-secret of the data folder.
        </p>
        <Area label="Body" rows={5} isCode value={body} onInput={setBody} />
      </Form>
      <Output title="Answer" isEmpty={answer === ""}>
        <pre tabIndex={0} aria-label="Answer">
          {answer}
        </pre>
      </Output>
    </div>
  );
}

async function signed(body: string, key: string): Promise<string> {
  const bytes = new TextEncoder();
  const hmac = { name: "HMAC", hash: "SHA-256" };
  const imported = await crypto.subtle.importKey("raw", bytes.encode(key.trim()), hmac, false, [
    "sign",
  ]);
  const digest = new Uint8Array(await crypto.subtle.sign("HMAC", imported, bytes.encode(body)));
  return [...digest].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}
