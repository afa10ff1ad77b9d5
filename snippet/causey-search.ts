import { Endpoint, type Passage, Refused } from "./endpoint.ts";
import { addressOf, element, excerpt, titleOf } from "./passage-view.ts";
import { STYLE } from "./style.ts";
import { readTexts, type Texts } from "./texts.ts";

/** Milliseconds without a key after which the box searches. */
const PAUSE_MS = 200;
/** Milliseconds after which a text that stands is a question, and not the beginning of one. */
const SETTLED_MS = 1500;
const RESULTS = 8;

/**
 * A search box over the public endpoint of an instance: results while somebody types, and an answer with its sources on Enter. A
 * combobox with a list (https://www.w3.org/WAI/ARIA/apg/patterns/combobox/).
 */
class CauseySearch extends HTMLElement {
  readonly #root = this.attachShadow({ mode: "open", delegatesFocus: true });
  readonly #input = element("input", {
    type: "search",
    role: "combobox",
    autocomplete: "off",
    spellcheck: "false",
    enterkeyhint: "search",
    maxlength: "500",
    "aria-autocomplete": "list",
    "aria-haspopup": "listbox",
    "aria-expanded": "false",
    "aria-controls": "results",
  });
  readonly #button = element("button", { type: "submit" });
  readonly #list = element("div", { role: "listbox", id: "results" });
  readonly #answer = element("section", { class: "answer", tabindex: "0" });
  /** Said by screen readers; always there, because a live region that appears is not announced. */
  readonly #status = element("p", { class: "status", role: "status" });
  /** The same for the eye, where there is nothing else to see. */
  readonly #note = element("p", { class: "note", "aria-hidden": "true" });
  readonly #panel = element("div", { class: "panel", hidden: "" });
  #endpoint: Endpoint | null = null;
  #texts: Texts = readTexts(null);
  #passages: readonly Passage[] = [];
  #chosen = -1;
  /** Ends the requests that an older text began. */
  #asked = new AbortController();
  #timer = 0;

  constructor() {
    super();
    // Not an element of style: a page's policy may allow none.
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(STYLE);
    this.#root.adoptedStyleSheets = [sheet];
    const form = element("form", { role: "search" }, this.#input, this.#button);
    this.#panel.append(this.#note, this.#answer, this.#list);
    this.#root.append(form, this.#status, this.#panel);
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      void this.#submit();
    });
    this.#input.addEventListener("input", () => this.#typed());
    this.#input.addEventListener("focus", () => this.#open(this.#hasContent()));
    this.#input.addEventListener("keydown", (event) => this.#key(event));
    this.#list.addEventListener("click", (event) => this.#clicked(event));
    // Else the box would lose the focus before the click.
    this.#list.addEventListener("mousedown", (event) => event.preventDefault());
  }

  connectedCallback(): void {
    const base = this.getAttribute("endpoint") ?? new URL(".", import.meta.url).href;
    this.#endpoint = new Endpoint(base);
    this.#texts = readTexts(this.getAttribute("texts"));
    this.#input.setAttribute("aria-label", this.getAttribute("label") ?? this.#texts.label);
    this.#input.placeholder = this.getAttribute("placeholder") ?? this.#texts.label;
    this.#button.textContent = this.#texts.ask;
    this.#button.hidden = this.hasAttribute("no-answers");
    this.#list.setAttribute("aria-label", this.#texts.results);
    this.#answer.setAttribute("aria-label", this.#texts.answer);
    document.addEventListener("pointerdown", this.#outside);
    this.addEventListener("focusout", this.#left);
  }

  disconnectedCallback(): void {
    this.#begin();
    document.removeEventListener("pointerdown", this.#outside);
    this.removeEventListener("focusout", this.#left);
  }

  readonly #outside = (event: Event): void => {
    if (!event.composedPath().includes(this)) this.#open(false);
  };

  readonly #left = (event: FocusEvent): void => {
    const to = event.relatedTarget;
    if (to instanceof Node && !this.contains(to)) this.#open(false);
  };

  /** Ends what runs, and returns the signal of what begins. */
  #begin(): AbortSignal {
    clearTimeout(this.#timer);
    this.#asked.abort();
    this.#asked = new AbortController();
    return this.#asked.signal;
  }

  #typed(): void {
    const signal = this.#begin();
    const query = this.#input.value.trim();
    this.#answer.replaceChildren();
    if (query === "") return this.#show([], "");
    this.#timer = setTimeout(() => void this.#search(query, signal), PAUSE_MS);
  }

  async #search(query: string, signal: AbortSignal): Promise<void> {
    const { searching, none, found } = this.#texts;
    if (!this.#hasContent()) this.#show([], searching);
    await this.#attempt(signal, async (endpoint) => {
      const limit = Number(this.getAttribute("max-results") ?? RESULTS);
      const passages = await endpoint.search(
        query,
        Math.max(1, Math.min(50, limit || RESULTS)),
        signal,
      );
      signal.throwIfAborted();
      const said = passages.length === 0 ? none : found.replace("{n}", String(passages.length));
      this.#show(passages, said);
      this.#timer = setTimeout(() => {
        endpoint.settle(query, signal).catch(() => undefined);
      }, SETTLED_MS);
    });
  }

  async #submit(): Promise<void> {
    const passage = this.#passages[this.#chosen];
    if (passage !== undefined) return this.#select(passage);
    const query = this.#input.value.trim();
    if (query === "") return;
    const signal = this.#begin();
    if (this.hasAttribute("no-answers")) return this.#search(query, signal);
    this.#show([], this.#texts.answering);
    const text = element("p");
    const sources = element("ol", { "aria-label": this.#texts.sources });
    await this.#attempt(signal, async (endpoint) => {
      for await (const part of endpoint.answer(query, signal)) {
        signal.throwIfAborted();
        if ("sources" in part) this.#sources(sources, part.sources);
        else text.append(part.text);
        if (text.textContent === "" || text.isConnected) continue;
        this.#note.textContent = "";
        this.#answer.replaceChildren(text, sources);
      }
      if (text.textContent === "") this.#show([], this.#texts.none);
      else this.#status.textContent = `${this.#texts.answer}: ${text.textContent}`;
    });
  }

  #sources(list: HTMLOListElement, passages: readonly Passage[]): void {
    for (const passage of passages) {
      const address = addressOf(passage, this.getAttribute("link"));
      const title = titleOf(passage);
      list.append(
        element("li", {}, address === null ? title : element("a", { href: address }, title)),
      );
    }
  }

  /** Shows what went wrong in words; a request that a newer one ended says nothing. */
  async #attempt(signal: AbortSignal, work: (endpoint: Endpoint) => Promise<void>): Promise<void> {
    try {
      if (this.#endpoint !== null) await work(this.#endpoint);
    } catch (error) {
      if (signal.aborted) return;
      const isBusy = error instanceof Refused && error.status === 429;
      this.#show([], isBusy ? this.#texts.busy : this.#texts.failed);
    }
  }

  #show(passages: readonly Passage[], status: string): void {
    this.#passages = passages;
    this.#status.textContent = status;
    this.#note.textContent = passages.length === 0 ? status : "";
    this.#list.replaceChildren(
      ...passages.map((passage, n) =>
        element(
          "div",
          { role: "option", id: `option-${n}`, "aria-selected": "false" },
          element("span", { class: "title" }, titleOf(passage)),
          element("span", { class: "text" }, ...excerpt(passage)),
        ),
      ),
    );
    this.#choose(-1);
    this.#open(this.#hasContent());
  }

  #hasContent(): boolean {
    const { childElementCount: answers } = this.#answer;
    return this.#note.textContent !== "" || answers + this.#list.childElementCount > 0;
  }

  #open(isOpen: boolean): void {
    this.#panel.hidden = !isOpen;
    this.#input.setAttribute("aria-expanded", String(isOpen && this.#passages.length > 0));
    if (!isOpen) this.#choose(-1);
  }

  #choose(index: number): void {
    this.#chosen = index;
    for (const [n, option] of [...this.#list.children].entries()) {
      option.setAttribute("aria-selected", String(n === index));
      if (n === index) option.scrollIntoView({ block: "nearest" });
    }
    if (index < 0) this.#input.removeAttribute("aria-activedescendant");
    else this.#input.setAttribute("aria-activedescendant", `option-${index}`);
  }

  #key(event: KeyboardEvent): void {
    const count = this.#passages.length;
    if (event.key === "Escape" && !this.#panel.hidden) {
      event.preventDefault();
      this.#open(false);
    } else if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      if (count === 0) return;
      event.preventDefault();
      this.#open(true);
      // Behind the last option, and before the first, is the text itself.
      const step = event.key === "ArrowDown" ? 1 : -1;
      this.#choose(((this.#chosen + 1 + step + count + 1) % (count + 1)) - 1);
    }
  }

  #clicked(event: Event): void {
    const option = event.target instanceof Element ? event.target.closest("[role=option]") : null;
    const passage = option && this.#passages[[...this.#list.children].indexOf(option)];
    if (passage) this.#select(passage);
  }

  /** Tells the page which passage was chosen; unless it takes that over, the browser goes there. */
  #select(passage: Passage): void {
    this.#endpoint?.clicked(this.#input.value.trim());
    const address = addressOf(passage, this.getAttribute("link"));
    const detail = { id: passage.id, key: passage.item.key, address };
    const event = new CustomEvent("causey-select", {
      detail,
      bubbles: true,
      composed: true,
      cancelable: true,
    });
    if (this.dispatchEvent(event) && address !== null) location.assign(address);
    this.#open(false);
  }
}

if (customElements.get("causey-search") === undefined)
  customElements.define("causey-search", CauseySearch);
