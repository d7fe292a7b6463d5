// The loops of ParallelDistances; included once for each instruction set, inside
// namespace mcsim::MCSIM_ISA, after distance_loops.inl and sample_filter.inl.

#if MCSIM_ISA_NUMBER(MCSIM_ISA) == 512

// How many bits are set. By hand, since GCC 12 may spill a mask register as fewer bytes
// than it loads.
inline std::uint32_t count_of(__mmask8 mask) {
  std::uint32_t bits;
  asm("kmovb %1, %0" : "=r"(bits) : "k"(mask));
  return static_cast<std::uint32_t>(std::popcount(bits));
}
inline std::uint32_t count_of(__mmask16 mask) {
  std::uint32_t bits;
  asm("kmovw %1, %0" : "=r"(bits) : "k"(mask));
  return static_cast<std::uint32_t>(std::popcount(bits));
}

constexpr std::size_t kHalfLanes = 16;  // of 32 bits

inline __m512i counting_from(std::uint32_t first) {
  const __m512i steps = _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
  return _mm512_add_epi32(steps, _mm512_set1_epi32(static_cast<int>(first)));
}

#endif

// Which of `parts` a key belongs to. What is a line of the table, or sixteen blocks of an
// array, is in one part.
struct PartOfKey {
  static constexpr std::uint64_t kFactor = 0x9e3779b97f4a7c15ULL;
  std::uint64_t parts;
  std::uint64_t operator()(std::uint64_t key) const {
    return (((key * kFactor) >> 32) * parts) >> 32;
  }
};
struct PartOfBlock {
  static constexpr std::uint32_t kFactor = 0x9e3779b1U;
  std::uint64_t parts;
  std::uint64_t operator()(std::uint32_t block) const {
    return ((block >> 4) * kFactor * parts) >> 32;
  }
};
inline PartOfKey part_by(std::uint64_t, std::uint64_t parts) { return {parts}; }
inline PartOfBlock part_by(std::uint32_t, std::uint64_t parts) { return {parts}; }

// Calls work(i, count, code) for runs of slots whose codes follow one another.
template <class Work>
inline void for_each_run(std::size_t slots, std::uint32_t first_slot, Work&& work) {
  for (std::size_t i = 0; i < slots;) {
    const std::size_t in_line = LiveSlots::kLineSlots - first_slot % LiveSlots::kLineSlots;
    const std::size_t count = std::min(slots - i, in_line);
    work(i, count, LiveSlots::code_of(first_slot));
    first_slot += static_cast<std::uint32_t>(count);
    i += count;
  }
}

template <class Key>
inline void divide(std::span<const Key> keys, std::uint32_t parts,
                   std::span<std::uint8_t> part_of) {
  const auto part = part_by(Key{}, parts);
  for (std::size_t i = 0; i < keys.size(); ++i) {
    part_of[i] = static_cast<std::uint8_t>(part(keys[i]));
  }
}

template <class Key>
inline void scatter(std::span<const Key> keys, std::span<const std::uint8_t> part_of,
                    std::uint32_t slot, std::span<Key*> to_keys,
                    std::span<std::uint32_t*> to_codes) {
  for_each_run(keys.size(), slot, [&](std::size_t i, std::size_t count, std::uint32_t code) {
    for (const std::size_t end = i + count; i < end; ++i, ++code) {
      *to_keys[part_of[i]]++ = keys[i];
      *to_codes[part_of[i]]++ = code;
    }
  });
}

// Accesses to one part as they are found. What is written behind those chosen is
// overwritten by the next, or slack.
template <class Key>
struct Selection {
  Key* keys;
  std::uint32_t* codes;
  std::uint8_t* part_of;  // of all accesses, or null
  std::size_t count = 0;
};

#if MCSIM_ISA_NUMBER(MCSIM_ISA) == 512

// By vectors, as many as there are whole ones of; returns how many keys that is. Of 2^k parts,
// that of a key is the k highest bits of its hash. Shifts have a mask, since GCC 12 warns of
// those without.
inline std::size_t select_lanes(std::span<const std::uint64_t> keys, PartOfKey part,
                                std::uint32_t mine, std::uint32_t code,
                                Selection<std::uint64_t>& to) {
  const __m128i shift = _mm_cvtsi32_si128(64 - std::countr_zero(part.parts));
  const __m512i wanted = _mm512_set1_epi64(mine);
  const __m256i steps = _mm256_set_epi32(7, 6, 5, 4, 3, 2, 1, 0);
  std::size_t i = 0;
  for (; i + kLanes <= keys.size(); i += kLanes) {
    __builtin_prefetch(reinterpret_cast<const char*>(keys.data() + i) + kAheadBytes);
    const Lanes loaded = load_lanes(keys.data() + i);
    const __m512i part_here =
        _mm512_maskz_srl_epi64(0xff, reinterpret_cast<__m512i>(loaded * PartOfKey::kFactor), shift);
    const __mmask8 chosen = _mm512_cmpeq_epi64_mask(part_here, wanted);
    _mm512_storeu_si512(to.keys + to.count,
                        _mm512_maskz_compress_epi64(chosen, reinterpret_cast<__m512i>(loaded)));
    const __m256i codes = _mm256_add_epi32(steps, _mm256_set1_epi32(static_cast<int>(code + i)));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to.codes + to.count),
                        _mm256_maskz_compress_epi32(chosen, codes));
    if (to.part_of != nullptr) {
      _mm_storel_epi64(reinterpret_cast<__m128i*>(to.part_of + i),
                       _mm512_maskz_cvtepi64_epi8(0xff, part_here));
    }
    to.count += count_of(chosen);
  }
  return i;
}

inline std::size_t select_lanes(std::span<const std::uint32_t> blocks, PartOfBlock part,
                                std::uint32_t mine, std::uint32_t code,
                                Selection<std::uint32_t>& to) {
  const __m128i shift = _mm_cvtsi32_si128(32 - std::countr_zero(part.parts));
  const __m512i wanted = _mm512_set1_epi32(static_cast<int>(mine));
  std::size_t i = 0;
  for (; i + kHalfLanes <= blocks.size(); i += kHalfLanes) {
    __builtin_prefetch(reinterpret_cast<const char*>(blocks.data() + i) + kAheadBytes);
    const __m512i loaded = _mm512_loadu_si512(blocks.data() + i);
    const WordsRow hash = (reinterpret_cast<WordsRow>(loaded) >> 4) * PartOfBlock::kFactor;
    const __m512i part_here =
        _mm512_maskz_srl_epi32(0xffff, reinterpret_cast<__m512i>(hash), shift);
    const __mmask16 chosen = _mm512_cmpeq_epi32_mask(part_here, wanted);
    _mm512_storeu_si512(to.keys + to.count, _mm512_maskz_compress_epi32(chosen, loaded));
    _mm512_storeu_si512(
        to.codes + to.count,
        _mm512_maskz_compress_epi32(chosen, counting_from(code + static_cast<std::uint32_t>(i))));
    if (to.part_of != nullptr) {
      _mm_storeu_si128(reinterpret_cast<__m128i*>(to.part_of + i),
                       _mm512_maskz_cvtepi32_epi8(0xffff, part_here));
    }
    to.count += count_of(chosen);
  }
  return i;
}

#endif

// Accesses to one of 2^k parts, whose codes follow one another.
template <class Key>
inline void select_run(std::span<const Key> keys, std::uint32_t parts, std::uint32_t mine,
                       std::uint32_t code, Selection<Key>& to) {
  const auto part = part_by(Key{}, parts);
  std::size_t i = 0;
#if MCSIM_ISA_NUMBER(MCSIM_ISA) == 512
  i = select_lanes(keys, part, mine, code, to);
#endif
  // Without a branch: written, and kept if it is mine.
  for (; i < keys.size(); ++i) {
    const auto of = static_cast<std::uint32_t>(part(keys[i]));
    to.keys[to.count] = keys[i];
    to.codes[to.count] = code + static_cast<std::uint32_t>(i);
    to.count += of == mine ? 1 : 0;
    if (to.part_of != nullptr) to.part_of[i] = static_cast<std::uint8_t>(of);
  }
}

template <class Key>
inline std::size_t select_part(std::span<const Key> keys, std::uint32_t parts, std::uint32_t mine,
                               std::uint32_t slot, Key* to_keys, std::uint32_t* to_codes,
                               std::uint8_t* part_of) {
  Selection<Key> to{to_keys, to_codes, part_of};
  for_each_run(keys.size(), slot, [&](std::size_t i, std::size_t count, std::uint32_t code) {
    to.part_of = part_of == nullptr ? nullptr : part_of + i;
    select_run(keys.subspan(i, count), parts, mine, code, to);
  });
  return to.count;
}

// Puts what lists hold in the order that list_of says.
inline void gather(std::span<const std::uint8_t> list_of, std::span<const std::uint32_t*> lists,
                   std::span<std::uint32_t> codes) {
  std::size_t i = 0;
#if MCSIM_ISA_NUMBER(MCSIM_ISA) == 512
  constexpr std::size_t kFew = 4;  // each costs what a few single accesses do
  for (; lists.size() <= kFew && i + kHalfLanes <= list_of.size(); i += kHalfLanes) {
    const __m128i of = _mm_loadu_si128(reinterpret_cast<const __m128i*>(list_of.data() + i));
    __m512i merged = _mm512_setzero_si512();
    for (std::size_t list = 0; list < lists.size(); ++list) {
      const __mmask16 its = _mm_cmpeq_epi8_mask(of, _mm_set1_epi8(static_cast<char>(list)));
      merged = _mm512_mask_expand_epi32(merged, its, _mm512_loadu_si512(lists[list]));
      lists[list] += count_of(its);
    }
    _mm512_storeu_si512(codes.data() + i, merged);
  }
#endif
  for (; i < list_of.size(); ++i) codes[i] = *lists[list_of[i]]++;
}

// Counts the distances of accesses whose last ones are known, of those whose last ones lie in
// a stretch of the time axis. What was accessed last behind the stretch is left out, as if it
// had not been accessed again: that changes no rank in the stretch, and as many slots live.
class StretchLoop {
 public:
  StretchLoop(const LiveSlots& slots, std::uint32_t* group_counts, DistanceBins& bins,
              std::uint32_t first, std::uint32_t last)
      : slots_(slots),
        view_(slots.view_with(group_counts)),
        bins_(bins),
        first_(first),
        last_(last) {}

  // `live` slots were so before the first access.
  void run(std::span<const std::uint32_t> codes, std::uint32_t live) {
    Piece pieces[2] = {};
    Piece* now = &pieces[0];
    Piece* next = &pieces[1];
    codes = codes.subspan(select(codes, *now));
    while (now->reuses > 0 || !codes.empty()) {
      prefetch_bins();
      codes = codes.subspan(select(codes, *next));
      count_pending();
      find_distances(*now, *next, live);
      live += now->accesses - now->reuses;
      std::swap(now, next);
    }
    count_pending();
  }

 private:
  static constexpr std::uint32_t kAtOnce = 16;

  struct Piece {
    // Accesses whose last ones lie in the stretch or before, and of these those in it.
    std::uint32_t accesses;
    std::uint32_t reuses;
    std::uint32_t last[kChunk + kAtOnce];      // codes of the reuses
    std::uint32_t position[kChunk + kAtOnce];  // among the accesses
  };

  // Returns how many codes it got through.
  [[gnu::noinline]] std::size_t select(std::span<const std::uint32_t> codes, Piece& piece) const {
    std::uint32_t accesses = 0;
    std::uint32_t reuses = 0;
    std::size_t i = 0;
#if MCSIM_ISA_NUMBER(MCSIM_ISA) == 512
    const __m512i first = _mm512_set1_epi32(static_cast<int>(first_));
    const __m512i last = _mm512_set1_epi32(static_cast<int>(last_));
    for (; reuses + kAtOnce <= kChunk && i + kAtOnce <= codes.size(); i += kAtOnce) {
      const __m512i all = _mm512_loadu_si512(codes.data() + i);
      const __mmask16 not_behind = _mm512_cmple_epu32_mask(all, last);
      const __m512i some = _mm512_maskz_compress_epi32(not_behind, all);
      const __mmask16 within = _mm512_cmpge_epu32_mask(some, first);
      _mm512_storeu_si512(piece.last + reuses, _mm512_maskz_compress_epi32(within, some));
      _mm512_storeu_si512(piece.position + reuses,
                          _mm512_maskz_compress_epi32(within, counting_from(accesses)));
      accesses += count_of(not_behind);
      reuses += count_of(within);
    }
    if (i + kAtOnce <= codes.size()) codes = codes.first(i);
#endif
    // Without a branch: written, and kept if it is in the stretch.
    for (; reuses < kChunk && i < codes.size(); ++i) {
      piece.last[reuses] = codes[i];
      piece.position[reuses] = accesses;
      const std::uint32_t not_behind = codes[i] <= last_ ? 1 : 0;
      accesses += not_behind;
      reuses += codes[i] >= first_ ? not_behind : 0;
    }
    piece.accesses = accesses;
    piece.reuses = reuses;
    return i;
  }

  void prefetch_bins() const {
    const std::uint32_t* const counts = bins_.counts();
    for (std::uint32_t i = 0; i < pending_; ++i) __builtin_prefetch(counts + pending_bins_[i], 1);
  }

  void count_pending() {
    std::uint32_t* const counts = bins_.counts();
    for (std::uint32_t i = 0; i < pending_; ++i) ++counts[pending_bins_[i]];
    pending_ = 0;
  }

  [[gnu::noinline]] void find_distances(const Piece& piece, const Piece& next, std::uint32_t live) {
    const LiveSlots::View view = view_;
    with_levels(slots_, [&]<int kLevels>() {
      take_slots<kLevels>(view, piece.last, piece.reuses, pending_bins_, [&](std::size_t i) {
        prefetch_slot(view, next.last[i]);  // a stale one does no harm
      });
    });
    for (std::size_t i = piece.reuses; i < next.reuses; ++i) prefetch_slot(view, next.last[i]);
    pending_ = piece.reuses;
    find_distances_by_rank(live, piece.position, pending_, pending_bins_);
    put_in_bins(pending_, bins_.bits(), pending_bins_);
  }

  const LiveSlots& slots_;
  LiveSlots::View view_;
  DistanceBins& bins_;
  std::uint32_t first_;
  std::uint32_t last_;
  // What was found and has to be counted.
  std::uint32_t pending_ = 0;
  std::uint32_t pending_bins_[kChunk];
};
