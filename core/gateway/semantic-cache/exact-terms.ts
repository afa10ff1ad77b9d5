import { nfkc } from "../../text/nfkc.ts";

/** Words that turn a sentence into its opposite, in the languages that are asked most; letters are in lower case. */
const NEGATIONS: ReadonlySet<string> = new Set(
  [
    "no not never none nobody nothing nowhere neither nor without except cannot",
    "nicht kein keine keinen keinem keiner keines nie niemals nichts niemand ohne außer weder",
    "ne pas jamais sans sauf aucun aucune rien ni personne",
    "nunca ningún ninguno ninguna nada nadie tampoco sin excepto",
    "não nem nenhum nenhuma ninguém sem exceto",
    "non né mai niente nulla nessuno nessuna senza eccetto",
    "niet geen nooit niets niemand zonder behalve",
    "ikke ingen aldri aldrig intet uten uden inte inget utan ei ilman",
    "nigdy nikt nic bez oprócz ne není nikdy nu niciodată fără",
    "не нет ни без никогда ничего никто кроме",
    "değil yok hiç hariç bukan tidak tanpa không chưa chẳng trừ",
    "لا لم لن ليس ليست بدون غير إلا לא אין בלי ללא नहीं मत न बिना",
  ].flatMap((line) => line.split(" ")),
);
/** "don't", "isnt", "won't". */
const CONTRACTED = /^(?:\p{L}+n't|(?:do|does|did|is|are|was|were|ca|could|would|should|wo)nt)$/u;
/** Negations of scripts that put no space between words. */
const UNSPACED = /[不没沒无無非未别別勿莫]|ない|ません|なし|ずに|않|없|못|아니|ไม่|ไร้/gu;
/** A number with its separators and letters, such as 3.5, 2026-11-22, v2 and 10mg; or words. */
const RUN = /[\p{L}\p{M}\p{N}.,:/%'-]+/gu;
const WORD = /[\p{L}\p{M}']+/gu;

/**
 * Returns the numbers and negations of a text, in their order. Vectors do not tell these apart: "with 5 users" and "with 50
 * users", or a question and its opposite, are often closer to each other than two paraphrases
 * (https://github.com/zilliztech/GPTCache/issues/694). Two texts whose terms differ are two questions.
 */
export function exactTerms(text: string): string {
  const plain = nfkc(text).replaceAll("’", "'").toLowerCase();
  return Array.from(plain.matchAll(RUN), ([run]) =>
    /\p{N}/u.test(run)
      ? [withoutEnd(run)]
      : Array.from(run.matchAll(WORD), ([word]) => word).flatMap(negations),
  )
    .flat()
    .join(" ");
}

function negations(word: string): string[] {
  if (NEGATIONS.has(word) || CONTRACTED.test(word)) return ["not"];
  return Array.from(word.matchAll(UNSPACED), () => "not");
}

/** Returns a number without the marks of the sentence that it ends. */
function withoutEnd(run: string): string {
  let end = run.length;
  while (end > 0 && ".,:/'-".includes(run.charAt(end - 1))) end--;
  return run.slice(0, end);
}
