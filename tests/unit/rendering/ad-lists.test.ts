import { describe, expect, it } from "vitest";
import { parseAllowHosts } from "../../../core/net/allow-hosts.ts";
import type { System, Transport } from "../../../core/ports.ts";
import { hostList } from "../../../core/rendering/ads/ad-hosts.ts";
import { decideSteps, type AdLists } from "../../../core/rendering/job/request-gate.ts";
import { runThrough } from "../../../core/work/background.ts";
import { adLists } from "../../../core/rendering/ads/ad-lists.ts";
import { fakeClock } from "../../fakes/rendering-system.ts";

describe("a list of hosts", () => {
  const listOf = (...lines: string[]) => {
    const list = hostList();
    for (const line of lines) list.add(line);
    return list;
  };

  it("takes filters for whole hosts, files of hosts, and plain names", () => {
    const list = listOf("||Ads.Example^", "||t.example^$third-party,all", "0.0.0.0 h.example # x");
    list.add("plain.example\r");
    for (const host of [
      "ads.example",
      "a.b.ads.example",
      "t.example",
      "h.example",
      "plain.example",
    ])
      expect([host, list.has(host)]).toEqual([host, true]);
    for (const host of ["example", "badads.example", "ads.example.org"])
      expect([host, list.has(host)]).toEqual([host, false]);
  });

  it("lets exceptions pass, with all below them, wherever they stand", () => {
    const list = listOf("@@||fine.ads.example^", "||ads.example^");
    expect(["ads.example", "fine.ads.example", "x.fine.ads.example"].map(list.has)).toEqual([
      true,
      false,
      false,
    ]);
  });

  it("takes no filter for a path, an element or one kind of request", () => {
    const lines = ["||a.example/ads^", "||a.example^$script", "a.example##.ad", "! a.example"];
    const others = ["[Adblock Plus 2.0]", "# a.example", "127.0.0.1 localhost", "0.0.0.0", ""];
    const wild = ["||a.*^", "/banner/", "a.example b.example", "@@||a.example^$script"];
    const list = listOf(...lines, ...others, ...wild);
    expect([list.size(), list.has("a.example")]).toEqual([0, false]);
  });
});

describe("requests of a page without ads", () => {
  it("are refused to listed hosts, but to the site itself, and no page is", () => {
    const hosts = hostList();
    for (const name of ["ads.example", "shop.example"]) hosts.add(name);
    const none = { allowPatterns: [], rejectPatterns: [], allowTypes: [], rejectTypes: [] };
    const rules = { ...none, allow: parseAllowHosts([]), ads: { hosts, site: "www.shop.example" } };
    const decide = (url: string, main = false) =>
      runThrough(decideSteps({ url, type: main ? "document" : "image", main }, rules));
    expect(decide("https://x.ads.example/a.png")).toBe("blocked");
    expect(decide("https://ads.example./a.png")).toBe("blocked");
    expect(decide("https://ads.example/", true)).toBe("continue");
    for (const host of ["www.shop.example", "cdn.www.shop.example", "shop.example", "fine.example"])
      expect([host, decide(`https://${host}/a.png`)]).toEqual([host, "continue"]);
    expect(decide("https://img.shop.example/a.png")).toBe("blocked");
  });
});

const SILENT: unique symbol = Symbol("no answer");

/** The text of a list, the status that its site answers, or why it does not answer. */
type Answer = Error | string | number | typeof SILENT;

describe("lists that are read", () => {
  function reading(answers: Answer[], most = 1) {
    const { system, advance } = fakeClock();
    const asked: string[] = [];
    const documents: Transport = {
      send: async ({ url, signal }) => {
        asked.push(url);
        const answer = answers.shift() ?? "||ads.example^";
        if (answer === SILENT)
          return await new Promise((_, reject) =>
            signal?.addEventListener("abort", () => reject(signal.reason)),
          );
        if (answer instanceof Error) throw answer;
        const isStatus = typeof answer === "number";
        const body = new TextEncoder().encode(isStatus ? "" : answer);
        return { status: isStatus ? answer : 200, headers: [], body };
      },
    };
    const urls = ["https://lists.example/a", "https://lists.example/b"].slice(0, most);
    let paused = 0;
    const sleep: System["sleep"] = async (ms, signal) => {
      if (ms > 0) return system.sleep(ms, signal);
      paused += 1;
    };
    const platform = { system: { ...system, sleep }, log: () => undefined };
    const lists = adLists({ urls, documents, allow: parseAllowHosts([]), platform });
    return { lists, asked, pass: advance, pauses: () => paused };
  }
  const blocks = async (lists: AdLists) => (await lists.hosts()).has("ads.example");
  const day = 24 * 60 * 60_000;
  const names = (count: number): string =>
    Array.from({ length: count }, (_, at) => `h${at}.example`).join("\n");

  it("are read once by many, and again after a day", async () => {
    const { lists, asked, pass } = reading(["||b.example^", "||ads.example^"], 2);
    expect(await Promise.all([blocks(lists), blocks(lists)])).toEqual([true, true]);
    expect(asked).toEqual(["https://lists.example/a", "https://lists.example/b"]);
    await pass(day - 1);
    await lists.hosts();
    expect(asked).toHaveLength(2);
    await pass(1);
    await lists.hosts();
    expect(asked).toHaveLength(4);
  });

  it("go on while they cannot be read again, and are not asked for at each page", async () => {
    const { lists, asked, pass } = reading(["||ads.example^", new Error("down"), 500]);
    expect(await blocks(lists)).toBe(true);
    await pass(day);
    expect([await blocks(lists), await blocks(lists)]).toEqual([true, true]);
    expect(asked).toHaveLength(2);
    await pass(60_000);
    expect([await blocks(lists), asked.length]).toEqual([true, 3]);
  });

  it("may name the same hosts", async () => {
    const { lists } = reading(["||ads.example^", "0.0.0.0 ads.example"], 2);
    expect(await blocks(lists)).toBe(true);
  });

  it("say which of them cannot be read, and why", async () => {
    const said: readonly (readonly [Answer, string])[] = [
      [new Error("no route"), "no route"],
      [404, "Its site answers status 404"],
      ["<html>Welcome</html>", "It names no host"],
      [`${"x".repeat(100)}\n`.repeat(170_000), "It has more than 16777216 bytes"],
      [names(500_001), "The lists name more than 500000 hosts"],
    ];
    for (const [answer, why] of said) {
      const { lists, asked } = reading([answer]);
      const message = `blockAds: The list https://lists.example/a cannot be read: ${why}. rendering.adLists names other lists`;
      await expect(lists.hosts()).rejects.toMatchObject({ kind: "unavailable", message });
      await expect(lists.hosts()).rejects.toMatchObject({ message });
      expect(asked).toHaveLength(1);
    }
  });

  it("are given up when no answer comes in 20 seconds", async () => {
    const { lists, pass } = reading([SILENT]);
    const said = expect(lists.hosts()).rejects.toMatchObject({
      message: expect.stringContaining("cannot be read: No answer within 20000 ms"),
    });
    await pass(20_000);
    await said;
  });

  it("let others go on while a long one is read", async () => {
    const { lists, pauses } = reading([`${"a.example\n".repeat(4000)}||ads.example^`]);
    expect([await blocks(lists), pauses()]).toEqual([true, 2]);
  });

  it("are cut at 500 characters a line", async () => {
    const { lists } = reading([`||ads.example^${" ".repeat(500)}\n||b.example^`]);
    const hosts = await lists.hosts();
    expect([hosts.has("ads.example"), hosts.has("b.example")]).toEqual([false, true]);
  });
});
