// The loops of ParallelDistances; included once for each instruction set, inside
// namespace mcsim::MCSIM_ISA, after distance_loops.inl and sample_filter.inl.

#if MCSIM_ISA_NUMBER(MCSIM_ISA) == 512

// Counts the bits set. In assembly, since GCC 12 may spill a mask register as fewer bytes than it
// loads.
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

inline __m512i counting_from(std::uint32_t first) {
  const __m512i steps = _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
  return _mm512_add_epi32(steps, _mm512_set1_epi32(static_cast<int>(first)));
}

#endif

// Calls work(i, count, code) for runs of slots with consecutive codes.
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

constexpr std::uint64_t kSelectFactor = 0x9e3779b97f4a7c15ULL;

// Keys in a range of hashes, with their codes. The next selection overwrites entries behind the
// last one, or they are slack.
struct Selection {
  HashRange range;
  std::uint64_t* keys;
  std::uint32_t* codes;
  std::size_t count = 0;

  // The codes of `from` are consecutive.
  MCSIM_WRAPS void select(std::span<const std::uint64_t> from, std::uint32_t code) {
    std::size_t i = 0;
#if MCSIM_ISA_NUMBER(MCSIM_ISA) == 512
    const __m512i extent = _mm512_set1_epi64(static_cast<long long>(range.extent));
    const __m256i steps = _mm256_set_epi32(7, 6, 5, 4, 3, 2, 1, 0);
    for (; i + kLanes <= from.size(); i += kLanes) {
      __builtin_prefetch(reinterpret_cast<const char*>(from.data() + i) + kAheadBytes);
      const Lanes loaded = load_lanes(from.data() + i);
      const auto offset = reinterpret_cast<__m512i>(loaded * kSelectFactor - range.first);
      const __mmask8 chosen = _mm512_cmple_epu64_mask(offset, extent);
      _mm512_storeu_si512(keys + count,
                          _mm512_maskz_compress_epi64(chosen, reinterpret_cast<__m512i>(loaded)));
      const __m256i ahead = _mm256_add_epi32(steps, _mm256_set1_epi32(static_cast<int>(code + i)));
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(codes + count),
                          _mm256_maskz_compress_epi32(chosen, ahead));
      count += count_of(chosen);
    }
#endif
    // Written without a branch, and kept if it is in the range.
    for (; i < from.size(); ++i) {
      keys[count] = from[i];
      codes[count] = code + static_cast<std::uint32_t>(i);
      count += from[i] * kSelectFactor - range.first <= range.extent ? 1 : 0;
    }
  }
};

// Counts the distances of accesses whose previous access lies in a range of the time axis. Previous
// accesses behind the range are dropped: they change no rank in the range.
class AxisRangeLoop {
 public:
  AxisRangeLoop(const LiveSlots& slots, std::uint32_t* group_counts, DistanceBins& bins,
                std::uint32_t first, std::uint32_t last)
      : slots_(slots),
        view_(slots.view_with(group_counts)),
        bins_(bins),
        first_(first),
        last_(last) {}

  // `live` slots were live before the first access.
  void run(std::span<const std::uint32_t> codes, std::uint32_t live) {
    assert(first_ > 0 && first_ <= last_);
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
    // Accesses with a previous one in or before the range, and those with a previous one in the
    // range.
    std::uint32_t accesses;
    std::uint32_t reuses;
    std::uint32_t last[kChunk + kAtOnce];      // codes of the reuses
    std::uint32_t position[kChunk + kAtOnce];  // among the accesses
  };

  // Returns the number of codes processed.
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
    // Written without a branch, and kept if it is in the range.
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
  // Distances that were found and are not counted yet.
  std::uint32_t pending_ = 0;
  std::uint32_t pending_bins_[kChunk];
};
