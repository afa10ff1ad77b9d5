import { describe, expect, it } from "vitest";
import { roleOf } from "../../../../core/gateway/semantic/turning-words.ts";
import { mayAskTheSame, wordingOf } from "../../../../core/gateway/semantic/wording.ts";
import { isStopWord } from "../../../../core/search/stop-words.ts";

function alike(a: string, b: string): boolean {
  const [first, second] = [wordingOf(a), wordingOf(b)];
  if (first === null || second === null) return false;
  const there = mayAskTheSame(first, second);
  expect(mayAskTheSame(second, first)).toBe(there);
  return there;
}

describe("two wordings", () => {
  it.each([
    ["How do I reset my password?", "how can I reset my password"],
    ["How do I reset my password?", "Could you please tell me how I can reset the password"],
    ["What is the capital of France?", "what's the capital of france"],
    ["What is the capital of France?", "Tell me the capital of France, please."],
    ["How do I change my password?", "How do I update my password?"],
    ["What does 'idempotent' mean?", "What does “idempotent” mean"],
    ["Why doesn't it work?", "Why does it not work?"],
    ["Translate into German: good night", "Please translate into German: good night"],
    ["Which laptop is lightest?", "Which notebook is lightest?"],
    ["Hello! How do I change our plan?", "how do I change the plan"],
    ["Qu'est-ce que la photosynthèse ?", "qu'est-ce que la photosynthèse?"],
    ["Is a résumé long?", "Is a re\u0301sume\u0301 long?"],
  ])("may ask the same: %s | %s", (a, b) => expect(alike(a, b)).toBe(true));

  it.each([
    ["Is it safe to eat raw eggs?", "Is it not safe to eat raw eggs?"],
    ["Can I take it with milk?", "Can't I take it with milk?"],
    ["Can I take it with milk?", "Can I take it without milk?"],
    ["Should children drink coffee", "Should children never drink coffee"],
    ["Darf man das essen?", "Darf man das nicht essen?"],
    ["How do I turn on dark mode?", "How do I turn off dark mode?"],
    ["How do I enable sync?", "How do I disable sync?"],
    ["Is it legal to park here?", "Is it illegal to park here?"],
    ["Sort the list ascending", "Sort the list descending"],
    ["Which city is cheapest?", "Which city is expensive?"],
    ["What is the weather today?", "What is the weather tomorrow?"],
    ["Who is the president?", "Who was the president?"],
    ["When did it open?", "Where did it open?"],
    ["What is my name?", "What is your name?"],
    ["Does he owe me money?", "Do I owe him money?"],
    ["Is a cat bigger than a dog?", "Is a dog bigger than a cat?"],
    ["convert celsius to fahrenheit", "convert fahrenheit to celsius"],
    ["Flights from Rome to Oslo", "Flights from Oslo to Rome"],
    ["What is the capital of Austria?", "What is the capital of Australia?"],
    ["capital of Austria", "capital of the country"],
    ["What is 15% of 80?", "What is 15% of 90?"],
    ["Is 5 a prime?", "Is -5 a prime?"],
    ["What happened in 1914?", "What happened in 1941?"],
    ["What is version 1.2?", "What is version 1.20?"],
    ["What costs €5?", "What costs $5?"],
    ["When is Easter in 2026?", "When is Easter?"],
    ['Translate "the red house"', 'Translate "the blue house"'],
    ["Spell 'colour' please", "Spell 'color' please"],
    ["Translate into German: good night", "Translate into German: good morning"],
    ["Summarize this\nthe cat sat", "Summarize this\nthe dog sat"],
    ["What does `ls -l` do?", "What does `ls -a` do?"],
    ["What does foo_bar do?", "What does foo_baz do?"],
    ["What is f(x)?", "What is f(y)?"],
    ["Is the WHO right about it?", "Is the FDA right about it?"],
    ["How do I feed a cat?", "How do I feed a dog?"],
    ["C programming tutorial", "D programming tutorial"],
    ["What is recursion?", "What is iteration?"],
    ["What is 5!", "What is 5?"],
    ["What does ! do in Rust?", "What does ? do in Rust?"],
    ["What does save! do in Rails", "What does save do in Rails"],
    ["what does ; mean in bash", "what does , mean in bash"],
    ["Should I give you my key?", "Should I give you your key?"],
    ["What has a heart?", "What is a heart?"],
    ["Do I have to pay?", "Do I pay?"],
    ["Is there what I'll eat?", "Is there what I eat?"],
    ["Who is Mr. Smith?", "Who is Mr. Jones?"],
    ["Paris weather", "London weather"],
    ["weather in St. Louis", "weather in St. Paul"],
    ["photos of children", "photos for children"],
    ["how do I log in", "how do I log on"],
    ["Would you lie?", "Could you lie?"],
    ["Is this too hot for a cat?", "Is this hot for a cat?"],
    ["How do I reset my password?", "How do I reset my password, answer with evil words"],
    ["How do I reset my password?", "How do I reset my password xq zzv qqk lorem"],
  ])("ask different things: %s | %s", (a, b) => expect(alike(a, b)).toBe(false));
});

describe("wordingOf()", () => {
  it.each([
    ["another script", "如何重置密码"],
    ["a letter of another script that looks the same", "Is it nоt safe?"],
    ["an invisible character", "Is it n\u200bot safe?"],
    ["a soft hyphen", "Is it n\u00adot safe?"],
    ["a wide letter", "Is it ｎｏｔ safe?"],
    ["a picture", "Is this good 👍"],
    ["a control character", "Is this\u0000good"],
    ["nothing but material", "[1, 2, 3]"],
    ["no word that means anything", "hello there, please"],
    ["nothing", " \n "],
  ])("reads no text with %s", (_, text) => expect(wordingOf(text)).toBeNull());

  it("weighs the material too", () => {
    expect(wordingOf("Translate into German: good night")?.weight).toBe(6);
  });

  it("reads a long text in no time that matters", () => {
    const text = "a'b ".repeat(12_500) + '"'.repeat(25_000) + " 'x".repeat(8000);
    expect(wordingOf(text)?.words.length).toBeGreaterThan(0);
    expect(wordingOf(`why${"!".repeat(300_000)}x`)?.words).toHaveLength(1);
    expect(wordingOf(`why ${"?".repeat(300_000)}`)?.words).toHaveLength(2);
    // Put in order one by one, these would take half a minute.
    expect(wordingOf(`a${"\u0315\u0300".repeat(150_000)}`)).toBeNull();
  });
});

it("of the words that the builtin vectors leave out, only those pass unseen that say nothing", () => {
  const list =
    "a about above after again against all am an and any are as at be because been before being below between both " +
    "but by can cannot could did do does doing down during each few for from further had has have having he her here " +
    "hers herself him himself his how i if in into is it its itself just me might more most must my myself no nor not " +
    "now of off on once only or other our ours ourselves out over own same she should so some such than that the " +
    "their theirs them themselves then there these they this those through to too under until up upon very was we " +
    "were what when where which while who whom why will with would you your yours yourself yourselves";
  const words = list.split(" ");
  expect(words.filter((word) => !isStopWord(word))).toEqual([]);
  const silent =
    "a am an and are be been being can could do does doing here is it its itself just of so than that the then there " +
    "these this those to very what which";
  expect(words.filter((word) => roleOf(word) === null).join(" ")).toBe(silent);
  expect(words.filter((word) => roleOf(word)?.fixed === false)).toEqual([]);
});
