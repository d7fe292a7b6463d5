// The operations of BlockTable; included once for each instruction set, inside
// namespace mcsim::MCSIM_ISA.

// Return a mask in which bit i is set if words[i] == wanted.
inline std::uint32_t matches_of_8(const std::uint32_t* words, std::uint32_t wanted) {
#if MCSIM_ISA_NUMBER(MCSIM_ISA) >= 2
  // No mask register: GCC 12 may spill one as a byte and load four.
  const __m256i all = _mm256_load_si256(reinterpret_cast<const __m256i*>(words));
  const __m256i equal = _mm256_cmpeq_epi32(all, _mm256_set1_epi32(static_cast<int>(wanted)));
  return static_cast<std::uint32_t>(_mm256_movemask_ps(_mm256_castsi256_ps(equal)));
#else
  std::uint32_t matches = 0;
  for (unsigned i = 0; i < 8; ++i) matches |= std::uint32_t{words[i] == wanted} << i;
  return matches;
#endif
}

// Eight entries a line, quotiented keys.
class NarrowLines {
 public:
  explicit NarrowLines(const BlockTable& table)
      : lines_(reinterpret_cast<std::uint32_t*>(table.lines())),
        shift_(BlockTable::kNarrowBits - table.line_bits()) {}

  static constexpr bool kWide = false;
  static bool fits(std::uint64_t key_bits) { return key_bits >> BlockTable::kNarrowBits == 0; }
  static std::uint64_t mix(std::uint64_t key) { return BlockTable::mix_narrow(key); }

  void prefetch(std::uint64_t mixed) const { __builtin_prefetch(line_of(mixed), 1); }

  // Replace the key's value by update(value); a new key has value 0. Return false without any
  // change if no entry is free near the key's home.
  template <class Update>
  [[gnu::always_inline]] bool update(std::uint64_t mixed, Update&& update) const {
    std::uint32_t* line = line_of(mixed);
    const std::uint64_t rest = mixed & ((std::uint64_t{1} << shift_) - 1);
    auto tag = static_cast<std::uint32_t>(rest << BlockTable::kDistanceBits);
    for (std::size_t i = 0; i <= BlockTable::kMaxDistance; ++i, ++tag, line += 16) {
      // Entries fill from the front, so the first hit is the key if the table has it. An empty
      // entry that matches the key's tag is handled like any other empty entry.
      const std::uint32_t hits = matches_of_8(line, tag) | matches_of_8(line + 8, 0) << 8;
      if (hits != 0) [[likely]] {
        const auto entry = static_cast<unsigned>(std::countr_zero(hits)) % 8;
        const std::uint32_t value = line[8 + entry];
        line[entry] = tag;
        line[8 + entry] = update(value);
        return true;
      }
    }
    return false;
  }

  std::uint32_t find(std::uint64_t mixed) const {
    std::uint32_t found = 0;
    const std::uint32_t* line = line_of(mixed);
    const std::uint64_t rest = mixed & ((std::uint64_t{1} << shift_) - 1);
    auto tag = static_cast<std::uint32_t>(rest << BlockTable::kDistanceBits);
    for (std::size_t i = 0; i <= BlockTable::kMaxDistance; ++i, ++tag, line += 16) {
      const std::uint32_t hits = matches_of_8(line, tag) | matches_of_8(line + 8, 0) << 8;
      if (hits == 0) continue;
      found = line[8 + static_cast<unsigned>(std::countr_zero(hits)) % 8];
      break;
    }
    return found;
  }

 private:
  std::uint32_t* line_of(std::uint64_t mixed) const { return lines_ + (mixed >> shift_) * 16; }

  std::uint32_t* lines_;
  int shift_;
};

// Five entries a line, whole keys.
class WideLines {
 public:
  explicit WideLines(const BlockTable& table)
      : lines_(table.lines()),
        shift_(64 - table.line_bits()),
        last_((std::size_t{1} << table.line_bits()) - 1) {}

  static constexpr bool kWide = true;
  static bool fits(std::uint64_t) { return true; }
  static std::uint64_t mix(std::uint64_t key) { return BlockTable::mix_wide(key); }

  void prefetch(std::uint64_t mixed) const {
    __builtin_prefetch(lines_ + (mixed >> shift_) * 8, 1);
  }

  template <class Update>
  [[gnu::always_inline]] bool update(std::uint64_t mixed, Update&& update) const {
    const Place place = locate(mixed);
    const std::uint32_t value = place.values()[place.entry];
    place.line[place.entry] = mixed;
    place.values()[place.entry] = update(value);
    return true;
  }

  std::uint32_t find(std::uint64_t mixed) const {
    const Place place = locate(mixed);
    return place.values()[place.entry];
  }

 private:
  struct Place {
    std::uint64_t* line;
    unsigned entry;
    std::uint32_t* values() const { return reinterpret_cast<std::uint32_t*>(line) + 10; }
  };

  // The entry of the key, or the empty entry where it belongs.
  [[gnu::always_inline]] Place locate(std::uint64_t mixed) const {
    for (std::size_t at = mixed >> shift_;; at = (at + 1) & last_) {
      std::uint64_t* const line = lines_ + at * 8;
      const auto* const values = reinterpret_cast<const std::uint32_t*>(line) + 10;
      std::uint32_t hits = 0;
      for (unsigned i = 0; i < 5; ++i) {
        hits |= std::uint32_t{line[i] == mixed} << i;
        hits |= std::uint32_t{values[i] == 0} << (8 + i);
      }
      if (hits != 0) return {line, static_cast<unsigned>(std::countr_zero(hits)) % 8};
    }
  }

  std::uint64_t* lines_;
  int shift_;
  std::size_t last_;
};

// Keys are processed in chunks: while the lines of one chunk are used, those of the next are being
// prefetched.
constexpr std::size_t kChunk = 224;

inline std::span<const std::uint64_t> chunk_at(std::span<const std::uint64_t> keys,
                                               std::size_t begin) {
  return keys.subspan(begin, std::min(kChunk, keys.size() - begin));
}

// Mix keys for the lines; return false if one does not fit into them.
template <class Lines>
inline bool mix_keys(std::span<const std::uint64_t> keys, std::uint64_t* mixed) {
  std::uint64_t bits = 0;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    bits |= keys[i];
    mixed[i] = Lines::mix(keys[i]);
  }
  return Lines::fits(bits);
}

// Apply update(i, value) -> new value to every key i from `begin` on. Return the index after the
// last key processed: keys.size(), or the key for which the table must change first (see resume()).
template <class Lines, class Update>
std::size_t update_keys(BlockTable& table, std::span<const std::uint64_t> keys, std::size_t begin,
                        Update& update) {
  std::uint64_t buffers[2][kChunk];
  std::uint64_t* now = buffers[0];
  std::uint64_t* next = buffers[1];
  bool fits = mix_keys<Lines>(chunk_at(keys, begin), now);
  for (std::size_t at = begin; at < keys.size();) {
    const std::size_t count = chunk_at(keys, at).size();
    if (!fits) return at;
    if (!table.has_room(count)) table.ensure_space(count);
    if (table.is_wide() != Lines::kWide) return at;
    const auto ahead = chunk_at(keys, at + count);
    fits = mix_keys<Lines>(ahead, next);
    const Lines lines(table);
    std::size_t fresh = 0;
    for (std::size_t i = 0; i < count; ++i) {
      if (i < ahead.size()) lines.prefetch(next[i]);
      const bool stored = lines.update(now[i], [&](std::uint32_t value) {
        fresh += value == 0 ? 1 : 0;
        return update(at + i, value);
      });
      if (!stored) [[unlikely]] {
        table.add_to_size(fresh);
        return at + i;
      }
    }
    table.add_to_size(fresh);
    at += count;
    std::swap(now, next);
  }
  return keys.size();
}

// Change the table so that processing can continue at keys[at], where lines of a layout stopped.
template <class Lines>
void resume(BlockTable& table, std::span<const std::uint64_t> keys, std::size_t at) {
  if (at == keys.size() || table.is_wide() || Lines::kWide) return;
  std::uint64_t bits = 0;
  for (const std::uint64_t key : chunk_at(keys, at)) bits |= key;
  if (NarrowLines::fits(bits)) {
    table.resolve_overflow();
  } else {
    table.widen();
  }
}

template <class Update>
void update_all_keys(BlockTable& table, std::span<const std::uint64_t> keys, Update&& update) {
  const auto run = [&]<class Lines>(std::size_t done) {
    done = update_keys<Lines>(table, keys, done, update);
    resume<Lines>(table, keys, done);
    return done;
  };
  for (std::size_t done = 0; done < keys.size();) {
    done = table.is_wide() ? run.template operator()<WideLines>(done)
                           : run.template operator()<NarrowLines>(done);
  }
}

template <class Lines>
void find_in(const BlockTable& table, std::span<const std::uint64_t> keys,
             std::span<std::uint32_t> values) {
  constexpr std::size_t kAhead = 24;
  const Lines lines(table);
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (i + kAhead < keys.size()) lines.prefetch(Lines::mix(keys[i + kAhead]));
    values[i] = Lines::fits(keys[i]) ? lines.find(Lines::mix(keys[i])) : 0;
  }
}
