"""Rules of systems that reproduce a deployed cache, with the files of its source."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

RULES: Mapping[str, str] = {
    "dm-cache": """\
Rules, and the files of drivers/md that they are from
  dm-cache-target.c      A miss is served by the origin. If it is promoted, the whole block is
                         copied after it. In write-back, a write makes its block dirty.
  dm-cache-target.c      A write of a whole block in write-back, with free space, goes to the
                         cache alone: a promotion, here counted as a miss.
  dm-cache-target.c      A waker comes about once a second. After a second without misses and
                         writes to the origin, it writes all dirty blocks back.
  dm-cache-policy-smq.c  64 levels of blocks. The first hit in a minute raises a block by one.
  dm-cache-policy-smq.c  64 levels of regions of up to 16 blocks, for misses. A miss is promoted
                         if its region reaches level 48, 32 or 0: by the share of misses in
                         regions of level 48 or more, below 1/16, below 1/8, or above.
  dm-cache-policy-smq.c  Without free space, a miss demotes a clean block of levels 0 to 31, or
                         writes back a dirty block untouched for 10 to 20 s. It is not promoted.
  dm-cache-policy-smq.c  Regions are redistributed over their levels every second, blocks every
                         minute.
Start from a dump (warm_up: {cache_dump: FILE})
  dm-cache-policy-smq.c  A loaded block is the oldest of its level. The level is its hint, at most
                         63, or a hash of its cache block if the dump has no hints or is of another
                         policy. Regions and counters start empty.
  dm-cache-target.c      Dirty blocks stay dirty. In write-through, writes to them go to the cache
                         alone. Passthrough refuses them; there, a hit reads the origin and a write
                         drops its block.
  Read in the source and compared with a twin, not with a kernel.
Not modelled
  Several requests in flight: a machine under load differs. Work in the background ends before
  the next request. A request over several blocks is served block by block. Discards change
  nothing. The traffic of the metadata device is left out.""",
    "dm-writecache": """\
Rules, all from drivers/md/dm-writecache.c
  read         A cached block is read from the cache. Others are read from the origin, and are not
               inserted.
  write        A cached block is overwritten in place. Another one takes a free cache block; without
               one, it goes to the origin (around). Blocks of a request after the first are written
               behind it if those cache blocks are free, without a lookup: an older copy stays
               until the next commit.
  commit       1 s after the first write, after autocommit_blocks, and before a write-back of blocks
               that are not committed.
  write-back   Starts when high_watermark is used, and ends below low_watermark. The oldest
               insertion is written first, with committed neighbours in the origin and in the cache,
               up to 256. A written block is free: the cache has no clean blocks.
  delay        After a write around the cache, write-back and commits wait for pause_writeback.
               With max_age, blocks of that age are written, too.
  metadata     16 B for each block, and a superblock: 2,040 of 2,048 blocks have data.
Against the kernel
  All counts of `dmsetup status` equal those of Linux 6.1.176 in seven replays.
Unit
  A block of block_bytes, 512 B to 4 KiB. The kernel counts a write that overwrites several blocks
  as one hit, and the others as allocations. Here all of them are hits.
Not modelled
  Several requests in flight, so no limit of writeback_jobs. Mode pmem. Options cleaner and
  metadata_only, which insert nothing into an empty cache or select requests. Flushes and FUA.""",
    "bcache": """\
Rules, and the files of drivers/md/bcache that they are from
  alloc.c      Blocks are appended to the open bucket of their VM. An older copy becomes garbage.
               A bucket is reused as a whole.
  alloc.c      Without free buckets, those of the least weight are invalidated, several at once:
               priority times the live sectors of the last garbage collection. Priorities fall by 1
               with each 1/1024 of the cache's traffic, and start anew at a read. Buckets with dirty
               blocks, open buckets and metadata stay.
  super.c      Then the priorities of all buckets are written to further buckets: of 4 buckets, 3
               carry data. Journal, priorities, B-tree and the free lists take 2 to 4 % of a cache.
  btree.c      Garbage is counted after each 1/16 of the cache that was inserted. A node of the
               B-tree is a bucket; a key has 24 bytes, one per block of the experiment here.
  request.c    A read that misses is inserted. If it hits in part, only its first gap is.
  request.c    A write goes to the cache and the origin (through), to the origin alone, which
               removes its blocks (around), or to the cache alone (back). Back applies up to 70 %
               of buckets in use, or 40 % without sync. Above 95 %, all requests bypass the cache.
  request.c    A stream of sequential_cutoff bytes bypasses the cache, and so does a VM whose mean
               stream is as long: 128 streams a VM, forgotten after 5 s. A bypassed read may hit.
  writeback.c  Dirty blocks are written in the order of addresses, in batches of 500, at (excess /
               40 + its integral / 10000) sectors per second, 8 at least, 1024 in the first 5 s.
               The excess over writeback_percent is measured every 5 s. After 30 s without requests
               there is no limit. After a batch with all dirty blocks it pauses.
Against the kernel
  Hits of reads are within 1 % in three replays of Linux 6.1.176, in mode through. The rate of
  write-back was not compared.
Not modelled
  Several requests in flight. Policies fifo and random. Waiting for write-backs: a block that finds
  no free bucket goes to the origin. Bypass of congested caches (as with
  congested_read_threshold_us 0), readahead_cache_policy, moving garbage collection, and the faster
  write-back of fragmented caches. Writes of the journal and the B-tree to flash.""",
    "open-cas": """\
Rules, and the files of OCF's folder src that they are from
  ocf_lru.c           32 lists; 256 lines in a row belong to one, the next 256 to the next. Each
                      has free, clean and dirty lines. The newer half is hot: a hit there moves
                      nothing, others move to the front.
  ocf_lru.c           A miss takes free lines, if there are enough for the request, or else the
                      oldest clean ones: 255 of one list, then of the next. The first list advances
                      by one with each such request. The line behind a victim goes along if it is
                      clean and cold.
  ocf_lru.c           Without enough clean lines, the request passes by the cache, and the 32 oldest
                      dirty lines are cleaned.
  engine              A read that misses in part cleans its dirty lines, and reads all blocks from
                      the core device. A write inserts its blocks (through, back, only) or removes
                      them unless all hit (around).
  ocf_seq_detect.c    64 streams of the queue, and 128 of each core device after 8 requests. They
                      are in trees in which a promoted stream hides others, for a while.
  ocf_seq_cutoff.c    A stream passes by the cache from cutoff_kib on, if 512 lines or less are free
                      beyond those of the request. Writes remove their blocks. Reads of dirty
                      blocks hit.
  promotion/nhit      From nhit_trigger % occupied lines on, all lines of a request must have been
                      requested nhit_threshold times, or one must be cached. The last lines are
                      remembered, twice as many as the cache has.
  cleaning/alru.c     Every 20 s, after 10 s without requests, dirty lines that were not written for
                      120 s are cleaned, 100 at once. Read hits in modes back and only are not
                      activity. With dirty_ratio, cleaning starts at once.
  metadata            35 MiB and about 1 % of the device. Less than 40 MiB is refused.
Against OCF
  Outcome, occupied lines and dirty lines after each request equal those of the library of OCF
  b8b4b704 in 26 replays, in user space with a clock that is set.
Not modelled
  Several queues and requests in flight. IO classes and pinned lines. Cleaning by ACP. Read-ahead,
  off by default. use_submit_io_fast. Requests of parts of a block. Flushes, errors, detaching.""",
    "zfs-arc": """\
Rules, and the files of module/zfs that they are from
  arc.c        A record that misses enters MRU. A hit in MRU promotes it to MFU, unless the last
               promotion or first read was within hz / 16 ticks (62 ms).
  arc.c        A hit in a ghost list of MRU or MFU reads the record into MFU.
  arc.c        When the size reaches the capacity, records are evicted until it is overflow_kib
               (16 MiB) less, the target size: of MRU down to its own target, then of MFU.
  arc.c        The target of MRU starts at half of the data. Before each eviction it moves by the
               bytes of ghost hits over the bytes of ghosts, at most 1/16, less near the ends.
  arc.c        The ghost list of a state is cut to half of all other data.
  arc.c        The size counts headers of 240 B, for ghosts too, and second copies in buffers.
  dbuf.c       A record that was read stays in the cache of buffers: 1/32 of the ARC, in LRU order,
               cut to 90 % when it is full and each second. It is not evicted meanwhile, and a hit
               there counts as one of the ARC. It leaves to the front of its list.
  arc.c        A written record is a new block in MRU, and its ghost is forgotten. A write of a part
               reads a missing record before.
Against OpenZFS
  Without the cache of buffers, the place of each record in ten replays of made-up reads, and in
  seven of recorded ones, equals that of arc.c in user space with one list per state and a clock
  that is set. With it, hits of reads are within 0.6 % in three replays. Writes were not compared.
Unit
  A record of record_kib. Discards change nothing.
Not modelled
  L2ARC. Records of several sizes, and compression. Metadata: bytes of the ARC that never change,
  while OpenZFS evicts indirect blocks and moves their target. Several requests in flight, and
  eviction behind them. Lists for each processor, 4 at least: evictions alternate between them, with
  0.1 % other hits in two replays. Prefetch. Memory pressure and growth from a small size.
  Transactions: records are written at once, not every 5 s, and never wait for space.""",
}
"""By name; `mcsim list` groups these systems as deployed, `mcsim describe` prints the rules."""

Setting = Mapping[str, str | int]
"""Values of parameters."""

SETTINGS: Mapping[str, Sequence[Sequence[Setting]]] = {
    "dm-cache": (
        tuple({"block_kib": 2**power} for power in range(5, 11)),
        ({"writes": "through"}, {"writes": "back"}),
    ),
    "dm-writecache": (
        (
            {"high_watermark": 50, "low_watermark": 45},
            {"high_watermark": 70, "low_watermark": 65},
            {"high_watermark": 90, "low_watermark": 85},
        ),
    ),
    "bcache": (
        ({"sequential_cutoff": 4 << 20}, {"sequential_cutoff": 0}),
        ({"writes": "through"}, {"writes": "around"}, {"writes": "back"}),
        ({"writeback_percent": 10}, {"writeback_percent": 40}),
    ),
    "open-cas": (
        ({"line_kib": 4}, {"line_kib": 16}, {"line_kib": 64}),
        ({"writes": "through"}, {"writes": "around"}, {"writes": "back"}),
        ({"cutoff": "full"}, {"cutoff": "never"}),
        ({"promotion": "always"}, {"promotion": "nhit"}),
    ),
}
"""Settings that searches and `tune` try, by name: lists of alternatives, that of the installer
first. Values of different lists are combined."""

ALIASES: Mapping[str, str] = {"lvmcache": "dm-cache"}
"""Other names under which `mcsim describe` finds deployed systems, in lower case."""

IN_USE: Mapping[str, str] = {
    "lvmcache": "system dm-cache: with one request in flight, each request as Linux 6.1 serves it",
    "bcache": "system bcache: reads within 1 % of the hits of Linux 6.1",
    "dm-writecache": "system dm-writecache: with one request in flight, all counts as Linux 6.1",
    "zfs": "system zfs-arc: data, without buffers each read as OpenZFS 2.4.99; not L2ARC",
    "open-cas": "system open-cas: with one request in flight, each request as OCF serves it",
    "vsan": "policy clock2q-plus, equal to that of libCacheSim; vSAN itself was not compared",
    "page-cache": "policy lru; its rules are not compared",
    "redis": "policy sampled-lru or sampled-lfu, its sampling; hits in a band of Redis 7.0",
    "caffeine": "policy w-tinylfu as library caffeine has it; not its hashes and its lost reads",
    "cachelib": "policy lru2q; not its slabs, and writes move blocks",
    "innodb": "policy midpoint; not its free list and read-ahead",
    "bluestore": "policy 2q(kin=0.5,kout=0.5), the data cache of Ceph; its rules are not compared",
    "postgresql": "policy gclock, each read as PostgreSQL 15; not its ring for large scans",
    "sqlite": "policy lru with one page less than cache_size, each read as SQLite 3.40",
    "rocksdb": "policy lru, on a trace of format rocksdb; its rules are not compared",
}
"""Caches that people run, by name: what is nearest here. docs/how-to/caches-in-use.md has more."""
