/** Whether markup may run a script. A mere mention of one counts, and so does a frame that brings its markup. */
export function mayRunScript(html: string): boolean {
  return /<script|<meta[^>]{0,200}refresh|\son[a-z]{3,30}\s{0,20}=|\ssrcdoc\s{0,20}=/iu.test(html);
}
