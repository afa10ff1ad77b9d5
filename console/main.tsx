import "./locale.ts";
import { type ComponentType, render } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { SessionFacts } from "../core/console/mod.ts";
import { logIn, logOut, readSession } from "./api.ts";
import { useLive } from "./live.ts";
import { DeprecationsPage } from "./deprecations.tsx";
import { GatewaysPage } from "./gateways.tsx";
import { LoginPage } from "./login.tsx";
import { LogsPage } from "./logs.tsx";
import { OverviewPage } from "./overview.tsx";
import type { PageProps } from "./parts.tsx";
import { PlaygroundPage } from "./playground.tsx";
import { RenderingPage } from "./rendering.tsx";
import { SearchPage } from "./search.tsx";
import { SettingsPage } from "./settings.tsx";
import { SpendPage } from "./spend.tsx";
import { WebhooksPage } from "./webhooks.tsx";

const views = {
  Overview: OverviewPage,
  Logs: LogsPage,
  Gateways: GatewaysPage,
  Spend: SpendPage,
  Playground: PlaygroundPage,
  Search: SearchPage,
  Rendering: RenderingPage,
  Webhooks: WebhooksPage,
  Deprecations: DeprecationsPage,
  Settings: SettingsPage,
} satisfies Readonly<Record<string, ComponentType<PageProps>>>;
type Page = keyof typeof views;
const pages = Object.keys(views) as Page[];

function pageOf(hash: string): Page {
  return pages.find((page) => hash === `#/${page.toLowerCase()}`) ?? "Overview";
}

/** The page: still loading, a login, or a session. */
function App() {
  const [facts, setFacts] = useState<SessionFacts | null | undefined>(undefined);
  const [problem, setProblem] = useState<string | null>(null);
  const load = (): void => {
    readSession().then(setFacts, (error: unknown) => {
      setProblem(error instanceof Error ? error.message : String(error));
      setFacts(null);
    });
  };
  useEffect(() => {
    const code = /^#login=(.+)$/.exec(location.hash)?.[1];
    if (code === undefined) return load();
    // Out of the address at once: it must not be in the history, nor be copied with it.
    history.replaceState(null, "", location.pathname);
    logIn({ code }, false).then(load, (error: unknown) => {
      setProblem(error instanceof Error ? error.message : String(error));
      load();
    });
  }, []);
  if (facts === undefined) return <p class="muted loading">Loading …</p>;
  if (facts === null) return <LoginPage problem={problem} onDone={load} />;
  return <Console facts={facts} onLoggedOut={() => setFacts(null)} />;
}

function Console({
  facts,
  onLoggedOut,
}: {
  readonly facts: SessionFacts;
  readonly onLoggedOut: () => void;
}) {
  const page = usePage();
  const live = useLive(onLoggedOut);
  const View = views[page];
  return (
    <div class="shell">
      <a
        class="skip"
        href="#content"
        onClick={(event) => {
          event.preventDefault();
          document.getElementById("content")?.focus();
        }}
      >
        Skip to the content
      </a>
      <header>
        <span class="brand">causey</span>
        <PageLinks page={page} />
        <div class="session">
          <span class={`live ${live.isConnected ? "on" : ""}`} role="status">
            {live.isConnected ? "Live" : "Connecting …"}
          </span>
          {facts.readOnly && <span class="badge">Read only</span>}
          <ThemeButton />
          {!facts.isHosted && (
            <button type="button" onClick={() => void logOut().then(onLoggedOut)}>
              Log out
            </button>
          )}
        </div>
      </header>
      <main id="content" tabIndex={-1}>
        <h1>{page}</h1>
        {live.error !== null && (
          <p class="error" role="alert">
            Nothing comes live from the server: {live.error}
          </p>
        )}
        <View live={live} facts={facts} />
      </main>
      <footer class="muted small">
        causey {facts.version} on {facts.runtime}, account {facts.account}
      </footer>
    </div>
  );
}

/** The page that the address names; it becomes the title of the document. */
function usePage(): Page {
  const [page, setPage] = useState(pageOf(location.hash));
  useEffect(() => {
    const onHash = (): void => setPage(pageOf(location.hash));
    addEventListener("hashchange", onHash);
    // It may have changed since the first look.
    onHash();
    return () => removeEventListener("hashchange", onHash);
  }, []);
  useEffect(() => {
    document.title = `${page} – causey console`;
  }, [page]);
  return page;
}

function PageLinks({ page }: { readonly page: Page }) {
  const place = useRef<HTMLElement>(null);
  useEffect(() => {
    // On a phone the row of links scrolls.
    const current = place.current?.querySelector("[aria-current]");
    current?.scrollIntoView({ block: "nearest", inline: "nearest" });
  }, [page]);
  return (
    <nav ref={place} aria-label="Pages">
      {pages.map((one) => (
        <a
          key={one}
          href={`#/${one.toLowerCase()}`}
          {...(one === page ? { "aria-current": "page" as const } : {})}
        >
          {one}
        </a>
      ))}
    </nav>
  );
}

const THEME = "causey-theme";

/** Light or dark as the system prefers, until the user chooses. */
function ThemeButton() {
  const isDark = (): boolean =>
    (document.documentElement.dataset["theme"] ??
      (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
  const [dark, setDark] = useState(isDark());
  useEffect(() => {
    const scheme = matchMedia("(prefers-color-scheme: dark)");
    const update = (): void => setDark(isDark());
    scheme.addEventListener("change", update);
    return () => scheme.removeEventListener("change", update);
  }, []);
  const toggle = (): void => {
    const next = dark ? "light" : "dark";
    document.documentElement.dataset["theme"] = next;
    localStorage.setItem(THEME, next);
    setDark(!dark);
  };
  return (
    <button type="button" onClick={toggle}>
      {dark ? "Light" : "Dark"}
    </button>
  );
}

const chosen = localStorage.getItem(THEME);
if (chosen === "light" || chosen === "dark") document.documentElement.dataset["theme"] = chosen;
const place = document.getElementById("app");
if (place !== null) {
  place.textContent = "";
  render(<App />, place);
}
