// Replays keys through caches of Node.js. Each line of standard input has a library, a capacity and
// a file of keys (64 bits each, little-endian); the answer is a line with the hits.
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { LRUCache } from "lru-cache";
import QuickLRU from "quick-lru";
import { SieveCache } from "@neophi/sieve-cache";
import { LRUCache as ThiLru, MRUCache as ThiMru } from "@thi.ng/cache";

const byMethods = (cache) => ({
  has: (key) => cache.get(key) !== undefined,
  put: (key) => cache.set(key, key + 1),
});
const makers = {
  "node-lru-cache": (size) => byMethods(new LRUCache({ max: size })),
  "quick-lru": (size) => byMethods(new QuickLRU({ maxSize: size })),
  "neophi-sieve": (size) => byMethods(new SieveCache(size)),
  "thi-lru": (size) => byMethods(new ThiLru(null, { maxlen: size })),
  "thi-mru": (size) => byMethods(new ThiMru(null, { maxlen: size })),
};

for await (const line of createInterface({ input: process.stdin })) {
  const [library, size, file] = line.split(" ");
  const bytes = readFileSync(file);
  const keys = new BigInt64Array(bytes.buffer, bytes.byteOffset, bytes.length / 8);
  const cache = makers[library](Number(size));
  let hits = 0;
  for (const each of keys) {
    const key = Number(each);
    if (cache.has(key)) hits++;
    else cache.put(key);
  }
  console.log(hits);
}
