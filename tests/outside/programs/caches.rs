// Replays keys through caches of Rust. Each line of standard input has a library, a capacity and a
// file of keys (64 bits each, little-endian); the answer is a line with the hits.
use std::io::BufRead;
use std::num::NonZeroUsize;

/// Returns whether a key is cached; it is afterwards, unless it is refused.
fn made(library: &str, size: usize) -> Box<dyn FnMut(u64) -> bool> {
    match library {
        "lru-rs" => {
            let mut cache = lru::LruCache::new(NonZeroUsize::new(size).unwrap());
            Box::new(move |key| {
                let hit = cache.get(&key).is_some();
                if !hit {
                    cache.put(key, ());
                }
                hit
            })
        }
        "quick-cache-unsync" => {
            let mut cache = quick_cache::unsync::Cache::new(size);
            Box::new(move |key| {
                let hit = cache.get(&key).is_some();
                if !hit {
                    cache.insert(key, ());
                }
                hit
            })
        }
        "moka" | "moka-lru" => {
            let policy = match library {
                "moka" => moka::policy::EvictionPolicy::tiny_lfu(),
                _ => moka::policy::EvictionPolicy::lru(),
            };
            let cache = moka::sync::Cache::builder()
                .max_capacity(size as u64)
                .eviction_policy(policy)
                .build();
            Box::new(move |key| {
                let hit = cache.get(&key).is_some();
                if !hit {
                    cache.insert(key, ());
                }
                cache.run_pending_tasks();
                hit
            })
        }
        _ => panic!("no library {library}"),
    }
}

fn main() {
    for line in std::io::stdin().lock().lines() {
        let line = line.unwrap();
        let words: Vec<&str> = line.split(' ').collect();
        let mut is_cached = made(words[0], words[1].parse().unwrap());
        let content = std::fs::read(words[2]).unwrap();
        let hits = content
            .chunks_exact(8)
            .filter(|key| is_cached(u64::from_le_bytes((*key).try_into().unwrap())))
            .count();
        println!("{hits}");
    }
}
