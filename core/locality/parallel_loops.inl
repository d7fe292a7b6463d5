// The loops of ParallelDistances; included once for each instruction set, inside
// namespace mcsim::MCSIM_ISA, after distance_loops.inl.

// A part is chosen by bits of the hash that say nothing of a line of its table.
inline void divide(std::span<const std::uint64_t> keys, std::uint32_t parts,
                   std::span<std::uint8_t> part_of) {
  const std::uint64_t* const key = keys.data();
  std::uint8_t* const part = part_of.data();
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const std::uint64_t low = BlockTable::mix_wide(key[i]) & 0xffffffffU;
    part[i] = static_cast<std::uint8_t>((low * parts) >> 32);
  }
}

#if MCSIM_ISA_NUMBER(MCSIM_ISA) == 512

constexpr std::size_t kPartLanes = 16;

// Of 16 accesses, those in the second of two parts; and how many they are. By hand,
// since GCC 12 may spill a mask register as two bytes and load four.
struct InSecond {
  __mmask16 mask;
  std::uint32_t count;
  explicit InSecond(const std::uint8_t* part_of) {
    const __m128i parts = _mm_loadu_si128(reinterpret_cast<const __m128i*>(part_of));
    mask = _mm_test_epi8_mask(parts, parts);
    std::uint32_t bits;
    asm("kmovw %1, %0" : "=r"(bits) : "k"(mask));
    count = static_cast<std::uint32_t>(std::popcount(bits));
  }
  __mmask16 others() const { return _knot_mask16(mask); }
};

// What is chosen of 16 values, at the front; what is written behind it is overwritten
// by the next, or slack.
inline void store_chosen(const std::uint32_t* values, __mmask16 chosen, std::uint32_t* to) {
  _mm512_storeu_si512(to, _mm512_maskz_compress_epi32(chosen, _mm512_loadu_si512(values)));
}
inline void store_chosen(const std::uint64_t* values, __mmask16 chosen, std::uint64_t* to) {
  const auto low = static_cast<__mmask8>(chosen);
  const auto high = static_cast<__mmask8>(_kshiftri_mask16(chosen, 8));
  std::uint32_t low_bits;
  asm("kmovb %1, %0" : "=r"(low_bits) : "k"(low));
  _mm512_storeu_si512(to, _mm512_maskz_compress_epi64(low, _mm512_loadu_si512(values)));
  _mm512_storeu_si512(to + std::popcount(low_bits),
                      _mm512_maskz_compress_epi64(high, _mm512_loadu_si512(values + 8)));
}

#endif

// `first`, or `second` if is_second is 1: without a branch, which would be
// mispredicted every other time.
inline std::size_t pick(std::size_t first, std::size_t second, std::size_t is_second) {
  return first ^ ((first ^ second) & (0 - is_second));
}

// Of two parts, with codes that follow one another.
template <class Key>
inline void scatter_in_two(std::span<const Key> keys, const std::uint8_t* part_of,
                           std::uint32_t code, std::span<Key*> to_keys,
                           std::span<std::uint32_t*> to_codes) {
  const auto go_on = [&](std::size_t accesses, std::size_t of_second) {
    to_keys[0] += accesses - of_second;
    to_codes[0] += accesses - of_second;
    to_keys[1] += of_second;
    to_codes[1] += of_second;
  };
  std::size_t i = 0;
#if MCSIM_ISA_NUMBER(MCSIM_ISA) == 512
  alignas(64) static constexpr std::uint32_t kSteps16[16] = {0, 1, 2,  3,  4,  5,  6,  7,
                                                             8, 9, 10, 11, 12, 13, 14, 15};
  const __m512i steps = _mm512_load_si512(kSteps16);
  for (; i + kPartLanes <= keys.size(); i += kPartLanes) {
    const InSecond second(part_of + i);
    const __m512i codes = _mm512_add_epi32(
        steps, _mm512_set1_epi32(static_cast<int>(code + static_cast<std::uint32_t>(i))));
    store_chosen(keys.data() + i, second.others(), to_keys[0]);
    store_chosen(keys.data() + i, second.mask, to_keys[1]);
    _mm512_storeu_si512(to_codes[0], _mm512_maskz_compress_epi32(second.others(), codes));
    _mm512_storeu_si512(to_codes[1], _mm512_maskz_compress_epi32(second.mask, codes));
    go_on(kPartLanes, second.count);
  }
#endif
  // Counters in registers: in memory they would be waited for.
  const auto second_key = static_cast<std::size_t>(to_keys[1] - to_keys[0]);
  const auto second_code = static_cast<std::size_t>(to_codes[1] - to_codes[0]);
  const std::size_t begin = i;
  std::size_t of_second = 0;
  for (; i < keys.size(); ++i) {
    const std::size_t of_first = i - begin - of_second;
    to_keys[0][pick(of_first, second_key + of_second, part_of[i])] = keys[i];
    to_codes[0][pick(of_first, second_code + of_second, part_of[i])] =
        code + static_cast<std::uint32_t>(i);
    of_second += part_of[i];
  }
  go_on(i - begin, of_second);
}

template <class Key>
inline void scatter(std::span<const Key> keys, std::span<const std::uint8_t> part_of,
                    std::uint32_t slot, std::span<Key*> to_keys,
                    std::span<std::uint32_t*> to_codes) {
  for (std::size_t i = 0; i < keys.size();) {
    const std::size_t in_line = LiveSlots::kLineSlots - slot % LiveSlots::kLineSlots;
    const std::size_t count = std::min(keys.size() - i, in_line);
    const std::uint32_t code = LiveSlots::code_of(slot);
    if (to_keys.size() == 2) {
      scatter_in_two(keys.subspan(i, count), part_of.data() + i, code, to_keys, to_codes);
    } else {
      for (std::uint32_t k = 0; k < count; ++k) {
        const std::size_t part = part_of[i + k];
        *to_keys[part]++ = keys[i + k];
        *to_codes[part]++ = code + k;
      }
    }
    i += count;
    slot += static_cast<std::uint32_t>(count);
  }
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
      const InSecond second(list_of.data() + i);
      const __m512i first =
          _mm512_maskz_expand_epi32(second.others(), _mm512_loadu_si512(lists_[0]));
      _mm512_storeu_si512(
          codes + i, _mm512_mask_expand_epi32(first, second.mask, _mm512_loadu_si512(lists_[1])));
      lists_[0] += kPartLanes - second.count;
      lists_[1] += second.count;
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
