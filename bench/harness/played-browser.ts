import type { Browser, Wire } from "../../core/ports.ts";
import { wholeMessage } from "../../core/rendering/cdp/call-message.ts";

interface CallParams {
  readonly functionDeclaration?: string;
}

interface Call {
  readonly id: number;
  readonly method: string;
  readonly params?: CallParams;
  readonly sessionId?: string;
}

/** The document of the made-up page: what the page's own functions would answer. */
const facts = {
  title: "Bill",
  base: "about:blank",
  url: "about:blank",
  empty: false,
  drawable: true,
};
const PDF = Buffer.from(`%PDF-1.4 ${" ".repeat(20_000)}`).toString("base64");

/** A browser that prints the same PDF for every page, at once: what is left is the work of whoever drives it. */
export function playedBrowser(): Browser {
  return {
    connect: () => Promise.resolve(playedWire()),
    close: () => Promise.resolve(),
    lasting: true,
  };
}

function playedWire(): Wire {
  const messages: ((message: string) => void)[] = [];
  const closes: ((reason: string) => void)[] = [];
  const say = (message: object): void => {
    for (const listener of messages) listener(JSON.stringify(message));
  };
  const loaded = (loaderId: string): void => {
    for (const name of ["init", "DOMContentLoaded", "load"])
      say({
        method: "Page.lifecycleEvent",
        params: { frameId: "T", loaderId, name },
        sessionId: "S",
      });
  };
  const answers: Readonly<Record<string, (params: CallParams) => object>> = {
    "Target.createBrowserContext": () => ({ browserContextId: "C" }),
    "Target.createTarget": () => {
      const targetInfo = { targetId: "T", type: "page", browserContextId: "C" };
      say({ method: "Target.attachedToTarget", params: { sessionId: "S", targetInfo } });
      loaded("first");
      return { targetId: "T" };
    },
    "Page.setDocumentContent": () => {
      loaded("second");
      return {};
    },
    "Page.createIsolatedWorld": () => ({ executionContextId: 1 }),
    "Page.navigate": () => {
      loaded("third");
      return {};
    },
    "Runtime.callFunctionOn": ({ functionDeclaration = "" }) => {
      // Characters without a font: none.
      return { result: { value: functionDeclaration.includes("createTreeWalker") ? [] : facts } };
    },
    "Page.printToPDF": () => ({ data: PDF }),
  };
  return {
    send(message) {
      const { id, method, params = {} }: Call = JSON.parse(wholeMessage(message));
      say({ id, result: answers[method]?.(params) ?? {} });
    },
    onMessage: (listener) => void messages.push(listener),
    onClose: (listener) => void closes.push(listener),
    close() {
      for (const listener of closes) listener("closed");
    },
  };
}
