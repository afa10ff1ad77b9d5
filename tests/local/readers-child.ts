// Asks a long query of the database at its argument, closes it, prints `closed`, and has nothing else to live for.
import { openSqlite } from "../../adapters/shared/sqlite/open-sqlite.ts";
import { printNow } from "./print-now.ts";

const db = openSqlite(process.argv[2] ?? "");
await db.all("SELECT 1", [], { long: "someone" });
await db.close();
printNow("closed");
