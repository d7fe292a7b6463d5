// The operations of LiveSlots; included once for each instruction set, inside
// namespace mcsim::MCSIM_ISA.

// Sliding windows over these give, for k, a row of zeroes up to k and ones behind.
struct StepTables {
  alignas(64) std::uint16_t halves[64] = {};
  alignas(64) std::uint32_t words[32] = {};
  // One off each nine-bit count of the words after.
  std::uint64_t later_words[8] = {};
  constexpr StepTables() {
    for (int i = 32; i < 64; ++i) halves[i] = 1;
    for (int i = 16; i < 32; ++i) words[i] = 1;
    for (int word = 0; word < 7; ++word) {
      for (int later = word + 1; later < 7; ++later) {
        later_words[word] |= std::uint64_t{1} << (9 * later);
      }
    }
  }
};
constexpr StepTables kSteps;

// row[i] -= steps[i] for 64 bytes at once. Loads and stores have the width of one
// another, or the processor could not pass a fresh value from one to the next.
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

// Live slots up to and including `code`.
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

// The same, after which the slot, which was live, is dead.
template <int kLevels>
inline std::uint32_t take(const LiveSlots::View& slots, std::uint32_t code) {
  const std::uint32_t count = rank<kLevels>(slots, code);
  const std::size_t line = code / LiveSlots::kLineCodes;
  std::uint64_t* words = slots.lines + line * 8;
  const std::uint32_t word = code / 64 % 8;
  words[word] &= ~(std::uint64_t{1} << (code % 64));
  words[7] -= kSteps.later_words[word];
  subtract_row<HalvesRow>(slots.line_counts + line / 32 * 32, kSteps.halves + (31 - line % 32));
  std::size_t group = line / 32;
  for (int level = 0; level < kLevels; ++level, group /= 16) {
    subtract_row<WordsRow>(slots.levels[static_cast<std::size_t>(level)] + group / 16 * 16,
                           kSteps.words + (15 - group % 16));
  }
  return count;
}

inline void prefetch_slot(const LiveSlots::View& slots, std::uint32_t code) {
  __builtin_prefetch(slots.lines + std::size_t{code / LiveSlots::kLineCodes} * 8, 1);
}

// Makes all counts fit the bits, whatever was done to them.
inline void recount(LiveSlots& slots) {
  const LiveSlots::View view = slots.view();
  const std::size_t line_count = slots.size() / LiveSlots::kLineSlots;
  std::uint32_t in_group = 0;
  for (std::size_t line = 0; line < line_count; ++line) {
    if (line % 32 == 0) in_group = 0;
    std::uint64_t* words = view.lines + line * 8;
    std::uint64_t counts = 0;
    std::uint32_t in_line = 0;
    for (unsigned word = 0; word < 7; ++word) {
      counts |= std::uint64_t{in_line} << (9 * word);
      in_line += static_cast<std::uint32_t>(std::popcount(words[word]));
    }
    words[7] = counts;
    view.line_counts[line] = static_cast<std::uint16_t>(in_group);
    in_group += in_line;
    if (slots.level_count() > 0) view.levels[0][line / 32] = in_group;
  }
  // Each level holds what its groups have and is turned into what lies before them.
  std::size_t groups = (line_count + 31) / 32;
  for (int level = 0; level < slots.level_count(); ++level, groups = (groups + 15) / 16) {
    std::uint32_t* const counts = view.levels[static_cast<std::size_t>(level)];
    std::uint32_t before = 0;
    for (std::size_t group = 0; group < groups; ++group) {
      if (group % 16 == 0) before = 0;
      before += std::exchange(counts[group], before);
      if (level + 1 < slots.level_count()) {
        view.levels[static_cast<std::size_t>(level) + 1][group / 16] = before;
      }
    }
  }
}

// Calls work.template operator()<kLevels>() with the number of levels of `slots`.
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
