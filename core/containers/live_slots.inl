// The operations of LiveSlots; included once for each instruction set, inside
// namespace mcsim::MCSIM_ISA.

// Row k has zeroes up to index k and ones after it.
struct StepTables {
  alignas(64) std::uint16_t halves[32][32] = {};
  alignas(64) std::uint32_t words[16][16] = {};
  // Subtracts one from each nine-bit count of the later words.
  std::uint64_t later_words[8] = {};
  constexpr StepTables() {
    for (int row = 0; row < 32; ++row) {
      for (int i = row + 1; i < 32; ++i) halves[row][i] = 1;
    }
    for (int row = 0; row < 16; ++row) {
      for (int i = row + 1; i < 16; ++i) words[row][i] = 1;
    }
    for (int word = 0; word < 7; ++word) {
      for (int later = word + 1; later < 7; ++later) {
        later_words[word] |= std::uint64_t{1} << (9 * later);
      }
    }
  }
};
constexpr StepTables kSteps;

// row[i] -= steps[i] for 64 bytes at once. Loads and stores have the same width; otherwise the
// processor could not forward a stored value to the next load.
using HalvesRow = std::uint16_t __attribute__((vector_size(64)));
using WordsRow = std::uint32_t __attribute__((vector_size(64)));
template <class Row, class T>
inline void subtract_row(T* row, const T* steps) {
  Row values;
  Row differences;
  std::memcpy(&values, row, sizeof values);
  std::memcpy(&differences, steps, sizeof differences);
  values -= differences;
  std::memcpy(row, &values, sizeof values);
}

// The number of live slots up to and including `code`.
template <int kLevels>
inline std::uint32_t rank(const LiveSlots::View& slots, std::uint32_t code) {
  const std::size_t line = code / LiveSlots::kLineCodes;
  const std::uint64_t* words = slots.lines + line * 8;
  const std::uint32_t word = code / 64 % 8;
  const std::uint64_t up_to = (std::uint64_t{2} << (code % 64)) - 1;
  auto count = static_cast<std::uint32_t>(std::popcount(words[word] & up_to));
  count += static_cast<std::uint32_t>(words[7] >> (9 * word)) & 511;
  count += slots.line_counts[line];
  std::size_t group = line / 32;
  for (int level = 0; level < kLevels; ++level, group /= 16) {
    count += slots.levels[static_cast<std::size_t>(level)][group];
  }
  return count;
}

// Kill the slots codes[i] in turn: ranks[i] = number of live slots up to and including codes[i]
// before its death. Calls between(i) at every step. The counts of the top level, which every death
// changes, stay in a register.
template <int kLevels, class Between>
inline void take_slots(const LiveSlots::View& slots, const std::uint32_t* codes, std::size_t count,
                       std::uint32_t* ranks, Between&& between) {
  constexpr int kTop = kLevels > 0 ? kLevels - 1 : 0;
  WordsRow top{};
  if constexpr (kLevels > 0) std::memcpy(&top, slots.levels[kTop], sizeof top);
  for (std::size_t i = 0; i < count; ++i) {
    between(i);
    const std::size_t code = codes[i];
    const std::size_t line = code / LiveSlots::kLineCodes;
    std::uint64_t* const words = slots.lines + line * 8;
    const std::size_t word = code / 64 % 8;
    const std::uint64_t bits = words[word];
    const std::uint64_t bit = std::uint64_t{1} << (code % 64);
    assert((bits & bit) != 0);
    auto rank = static_cast<std::uint32_t>(std::popcount(bits & (bit - 1))) + 1;
    words[word] = bits & ~bit;
    rank += static_cast<std::uint32_t>(words[7] >> (9 * word)) & 511;
    words[7] -= kSteps.later_words[word];
    rank += slots.line_counts[line];
    std::size_t group = line / 32;
    subtract_row<HalvesRow>(slots.line_counts + group * 32, kSteps.halves[line % 32]);
    for (int level = 0; level < kTop; ++level) {
      std::uint32_t* const counts = slots.levels[static_cast<std::size_t>(level)];
      rank += counts[group];
      const std::size_t in_row = group % 16;
      group /= 16;
      subtract_row<WordsRow>(counts + group * 16, kSteps.words[in_row]);
    }
    if constexpr (kLevels > 0) {
      rank += top[group];
      WordsRow steps;
      std::memcpy(&steps, kSteps.words[group], sizeof steps);
      top -= steps;
    }
    ranks[i] = rank;
  }
  if constexpr (kLevels > 0) std::memcpy(slots.levels[kTop], &top, sizeof top);
}

inline void prefetch_slot(const LiveSlots::View& slots, std::uint32_t code) {
  __builtin_prefetch(slots.lines + std::size_t{code / LiveSlots::kLineCodes} * 8, 1);
}

// Call work.template operator()<kLevels>() with the number of levels of `slots`.
template <class Work>
inline void with_levels(const LiveSlots& slots, Work&& work) {
  switch (slots.level_count()) {
    case 0:
      return work.template operator()<0>();
    case 1:
      return work.template operator()<1>();
    case 2:
      return work.template operator()<2>();
    case 3:
      return work.template operator()<3>();
    case 4:
      return work.template operator()<4>();
    default:
      return work.template operator()<LiveSlots::kMaxLevels>();
  }
}
