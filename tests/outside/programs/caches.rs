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
        "sieve-cache" => {
            let mut cache = sieve_cache::SieveCache::new(size).unwrap();
            Box::new(move |key| {
                let hit = cache.get(&key).is_some();
                if !hit {
                    cache.insert(key, ());
                }
                hit
            })
        }
        "tinyufo" => {
            let cache = tinyufo::TinyUfo::new(size, size);
            Box::new(move |key| {
                let hit = cache.get(&key).is_some();
                if !hit {
                    cache.put(key, (), 1);
                }
                hit
            })
        }
        _ => of_foyer(library, size),
    }
}

fn of_foyer(library: &str, size: usize) -> Box<dyn FnMut(u64) -> bool> {
    let eviction: foyer_memory::EvictionConfig = match library {
        "foyer-fifo" => foyer_memory::FifoConfig::default().into(),
        "foyer-lru" => foyer_memory::LruConfig::default().into(),
        "foyer-sieve" => foyer_memory::SieveConfig::default().into(),
        "foyer-s3fifo" => foyer_memory::S3FifoConfig::default().into(),
        "foyer-lfu" => foyer_memory::LfuConfig::default().into(),
        _ => panic!("no library {library}"),
    };
    let cache: foyer_memory::Cache<u64, ()> = foyer_memory::CacheBuilder::new(size)
        .with_shards(1)
        .with_eviction_config(eviction)
        .build();
    Box::new(move |key| {
        let hit = cache.get(&key).is_some();
        if !hit {
            cache.insert(key, ());
        }
        hit
    })
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
