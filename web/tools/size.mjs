// Prints the sizes of the built page, and fails above the bound.

import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { brotliCompressSync } from "node:zlib";

const most = 300_000; // brotli bytes

function* files(folder) {
  for (const name of readdirSync(folder)) {
    const path = join(folder, name);
    if (statSync(path).isDirectory()) yield* files(path);
    else yield path;
  }
}

let raw = 0;
let packed = 0;
for (const path of files("dist")) {
  const data = readFileSync(path);
  raw += data.length;
  packed += brotliCompressSync(data).length;
}
console.log(`the page has ${(raw / 1000).toFixed(0)} kB, ${(packed / 1000).toFixed(0)} kB with brotli (at most ${most / 1000})`);
if (packed > most) process.exit(1);
