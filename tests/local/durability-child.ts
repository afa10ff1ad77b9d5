// Writes as many batches as it can and prints the number of each one once it is acknowledged.
import { printNow } from "./print-now.ts";
import { openSqlite } from "../../adapters/shared/sqlite/open-sqlite.ts";

const db = openSqlite(process.argv[2] ?? "");
let next = 0;

async function writer(): Promise<void> {
  for (;;) {
    next += 1;
    const n = next;
    await db.batch([
      { sql: "INSERT INTO acknowledged (n, part) VALUES (?, 1)", params: [n] },
      { sql: "INSERT INTO acknowledged (n, part) VALUES (?, 2)", params: [n] },
    ]);
    // Straight to the pipe: what was printed before the kill was acknowledged before it.
    printNow(String(n));
  }
}

await Promise.all(Array.from({ length: 20 }, writer));
