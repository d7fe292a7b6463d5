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

// To 32 bits. With a mask, since GCC 12 warns of the form without.
inline __m256i narrowed(__m512i values) { return _mm512_maskz_cvtepi64_epi32(0xff, values); }

// Those chosen of eight keys, at the front; what is written behind them is overwritten by
// the next, or slack.
inline void store_chosen(Lanes keys, __mmask8 chosen, std::uint64_t* to) {
  _mm512_storeu_si512(to, _mm512_maskz_compress_epi64(chosen, reinterpret_cast<__m512i>(keys)));
}
inline void store_chosen(Lanes keys, __mmask8 chosen, std::uint32_t* to) {
  const __m256i narrow = narrowed(reinterpret_cast<__m512i>(keys));
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), _mm256_maskz_compress_epi32(chosen, narrow));
}

constexpr std::size_t kPartLanes = 16;

// Of 16 accesses, those in the second of two parts.
inline __mmask16 in_second(const std::uint8_t* part_of) {
  const __m128i parts = _mm_loadu_si128(reinterpret_cast<const __m128i*>(part_of));
  return _mm_test_epi8_mask(parts, parts);
}

#endif

// Which of `parts` a key belongs to. What is a line of the table, or sixteen blocks of an
// array, is in one part.
struct PartOfKey {
  std::uint64_t parts;
  template <class T>
  T operator()(T key) const {
    return (((key * 0x9e3779b97f4a7c15ULL) >> 32) * parts) >> 32;
  }
};
struct PartOfBlock {
  std::uint64_t parts;
  template <class T>
  T operator()(T block) const {
    return ((((block >> 4) * 0x9e3779b1ULL) & 0xffffffffU) * parts) >> 32;
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
    part_of[i] = static_cast<std::uint8_t>(part(std::uint64_t{keys[i]}));
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

// Accesses to one part, whose codes follow one another. Returns how many they are.
template <class Key>
inline std::size_t select_run(std::span<const Key> keys, std::uint32_t parts, std::uint32_t mine,
                              std::uint32_t code, Key* to_keys, std::uint32_t* to_codes,
                              std::uint8_t* part_of) {
  const auto part = part_by(Key{}, parts);
  std::size_t selected = 0;
  std::size_t i = 0;
#if MCSIM_ISA_NUMBER(MCSIM_ISA) == 512
  const Lanes steps = {0, 1, 2, 3, 4, 5, 6, 7};
  for (; i + kLanes <= keys.size(); i += kLanes) {
    __builtin_prefetch(reinterpret_cast<const char*>(keys.data() + i) + kAheadBytes);
    const Lanes loaded = load_lanes(keys.data() + i);
    const auto parts_here = reinterpret_cast<__m512i>(part(loaded));
    const __mmask8 chosen = _mm512_cmpeq_epi64_mask(parts_here, _mm512_set1_epi64(mine));
    const auto codes = reinterpret_cast<__m512i>(steps + (code + i));
    store_chosen(loaded, chosen, to_keys + selected);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to_codes + selected),
                        _mm256_maskz_compress_epi32(chosen, narrowed(codes)));
    if (part_of != nullptr) {
      _mm_storel_epi64(reinterpret_cast<__m128i*>(part_of + i),
                       _mm512_maskz_cvtepi64_epi8(0xff, parts_here));
    }
    selected += count_of(chosen);
  }
#endif
  // Without a branch: written, and kept if it is mine.
  for (; i < keys.size(); ++i) {
    const auto of = static_cast<std::uint32_t>(part(std::uint64_t{keys[i]}));
    to_keys[selected] = keys[i];
    to_codes[selected] = code + static_cast<std::uint32_t>(i);
    selected += of == mine ? 1 : 0;
    if (part_of != nullptr) part_of[i] = static_cast<std::uint8_t>(of);
  }
  return selected;
}

template <class Key>
inline std::size_t select_part(std::span<const Key> keys, std::uint32_t parts, std::uint32_t mine,
                               std::uint32_t slot, Key* to_keys, std::uint32_t* to_codes,
                               std::uint8_t* part_of) {
  std::size_t selected = 0;
  for_each_run(keys.size(), slot, [&](std::size_t i, std::size_t count, std::uint32_t code) {
    selected += select_run(keys.subspan(i, count), parts, mine, code, to_keys + selected,
                           to_codes + selected, part_of == nullptr ? nullptr : part_of + i);
  });
  return selected;
}

// `first`, or `second` if is_second is 1: without a branch, which would be
// mispredicted every other time.
inline std::size_t pick(std::size_t first, std::size_t second, std::size_t is_second) {
  return first ^ ((first ^ second) & (0 - is_second));
}

// Last accesses that are known already: each access says in which list its own is
// the next. The lists lie in one array.
class ListSource {
 public:
  using Key = std::uint8_t;
  using Handle = std::uint32_t;

  explicit ListSource(std::span<const std::uint32_t*> lists) : lists_(lists) {}

  // The loop prepares every access once and in order.
  bool prepare(std::span<const Key> list_of, Handle* codes) {
    if (lists_.size() == 2) {
      prepare_from_two(list_of, codes);
    } else {
      for (std::size_t i = 0; i < list_of.size(); ++i) codes[i] = *lists_[list_of[i]]++;
    }
    return true;
  }
  bool make_room(std::size_t) { return true; }
  struct Entries {
    void prefetch(Handle) const {}
    template <class Update>
    [[gnu::always_inline]] bool update(Handle code, Update&& update) const {
      update(code);
      return true;
    }
  };
  Entries entries_now() const { return {}; }
  void add_new(std::size_t) {}
  template <class Work>
  void for_each_last(Work&&) {}
  std::size_t entries() const { return 0; }

 private:
  // Without a branch, and without waiting for a pointer that was just stored.
  void prepare_from_two(std::span<const Key> list_of, Handle* codes) {
    std::size_t i = 0;
#if MCSIM_ISA_NUMBER(MCSIM_ISA) == 512
    for (; i + kPartLanes <= list_of.size(); i += kPartLanes) {
      const __mmask16 second = in_second(list_of.data() + i);
      const __m512i first =
          _mm512_maskz_expand_epi32(_knot_mask16(second), _mm512_loadu_si512(lists_[0]));
      _mm512_storeu_si512(codes + i,
                          _mm512_mask_expand_epi32(first, second, _mm512_loadu_si512(lists_[1])));
      const std::uint32_t of_second = count_of(second);
      lists_[0] += kPartLanes - of_second;
      lists_[1] += of_second;
    }
    list_of = list_of.subspan(i);
    codes += i;
#endif
    const std::uint32_t* const base = lists_[0];
    const auto second_begin = static_cast<std::size_t>(lists_[1] - base);
    std::size_t of_second = 0;
    for (i = 0; i < list_of.size(); ++i) {
      codes[i] = base[pick(i - of_second, second_begin + of_second, list_of[i])];
      of_second += list_of[i];
    }
    lists_[0] += list_of.size() - of_second;
    lists_[1] += of_second;
  }

  std::span<const std::uint32_t*> lists_;
};

inline void count_listed(DistanceState& state, std::span<const std::uint8_t> list_of,
                         std::span<const std::uint32_t*> lists) {
  ListSource source(lists);
  DistanceLoop(source, state, nullptr).run(list_of, 0, std::numeric_limits<Count>::max());
}
