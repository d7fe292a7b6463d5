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
    const std::uint32_t* const base = lists_[0];
    const auto second_begin = static_cast<std::size_t>(lists_[1] - base);
    std::size_t from_second = 0;
    for (std::size_t i = 0; i < list_of.size(); ++i) {
      const std::size_t is_second = list_of[i];
      const std::size_t in_first = i - from_second;
      const std::size_t in_second = second_begin + from_second;
      codes[i] = base[in_first ^ ((in_first ^ in_second) & (0 - is_second))];
      from_second += is_second;
    }
    lists_[0] += list_of.size() - from_second;
    lists_[1] += from_second;
  }

  std::span<const std::uint32_t*> lists_;
};

inline void count_listed(DistanceState& state, std::span<const std::uint8_t> list_of,
                         std::span<const std::uint32_t*> lists) {
  ListSource source(lists);
  DistanceLoop(source, state, nullptr).run(list_of, 0, std::numeric_limits<Count>::max());
}
