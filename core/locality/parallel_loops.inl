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
// the next.
class ListSource {
 public:
  using Key = std::uint8_t;
  using Handle = std::uint8_t;

  explicit ListSource(std::span<const std::uint32_t*> lists) : lists_(lists) {}

  bool prepare(std::span<const Key> list_of, Handle* handles) const {
    std::copy(list_of.begin(), list_of.end(), handles);
    return true;
  }
  bool make_room(std::size_t) { return true; }
  struct Entries {
    const std::uint32_t** lists;
    void prefetch(Handle) const {}
    template <class Update>
    [[gnu::always_inline]] bool update(Handle list, Update&& update) const {
      update(*lists[list]++);
      return true;
    }
  };
  Entries entries_now() const { return {lists_.data()}; }
  void add_new(std::size_t) {}
  template <class Work>
  void for_each_last(Work&&) {}
  std::size_t entries() const { return 0; }

 private:
  std::span<const std::uint32_t*> lists_;
};

inline void count_listed(DistanceState& state, std::span<const std::uint8_t> list_of,
                         std::span<const std::uint32_t*> lists) {
  ListSource source(lists);
  DistanceLoop(source, state, nullptr).run(list_of, 0, std::numeric_limits<Count>::max());
}
