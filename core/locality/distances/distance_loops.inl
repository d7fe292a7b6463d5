// The distance engine's loops. Included once for each instruction set, inside namespace
// mcsim::MCSIM_ISA, after live_slots.inl and block_table.inl.
//
// Accesses are processed in pieces, in three stages, each a loop of its own so that its memory
// accesses overlap. Stage 1 replaces each block's last access and prefetches the slot of the old
// one. Stage 2 counts the distances of the previous piece. Stage 3 clears the slots, which gives
// the distances, and prefetches their bins and the table lines of the next piece. Stage 1 drops
// first accesses without a branch.

// Last accesses by 64-bit key.
template <class Lines>
class KeySource {
 public:
  using Key = std::uint64_t;
  using Handle = std::uint64_t;

  explicit KeySource(BlockTable& table) : table_(table) {}

  bool prepare(std::span<const Key> keys, Handle* handles) const {
    return mix_keys<Lines>(keys, handles);
  }
  // Returns false if these lines cannot hold `more` keys.
  bool make_room(std::size_t more) {
    if (!table_.has_room(more)) table_.ensure_space(more);
    return table_.is_wide() == Lines::kWide;
  }
  // The last accesses; valid until the table grows.
  Lines entries_now() const { return Lines(table_); }
  void add_new(std::size_t blocks) { table_.add_to_size(blocks); }
  template <class Work>
  void for_each_last(Work&& work) {
    table_.for_each_value(work);
  }
  std::size_t entries() const { return table_.size(); }

 private:
  BlockTable& table_;
};

// Last accesses by block number.
class DenseSource {
 public:
  using Key = std::uint32_t;
  using Handle = std::uint32_t;

  explicit DenseSource(std::span<std::uint32_t> last) : last_(last) {}

  bool prepare(std::span<const Key> keys, Handle* handles) const {
    std::copy(keys.begin(), keys.end(), handles);
    return true;
  }
  bool make_room(std::size_t) { return true; }
  struct Entries {
    std::uint32_t* last;
    void prefetch(Handle handle) const { __builtin_prefetch(last + handle, 1); }
    template <class Update>
    [[gnu::always_inline]] bool update(Handle handle, Update&& update) const {
      last[handle] = update(last[handle]);
      return true;
    }
  };
  Entries entries_now() const { return {last_.data()}; }
  void add_new(std::size_t) {}
  template <class Work>
  void for_each_last(Work&& work) {
    for (std::uint32_t& last : last_) {
      if (last != 0) work(last);
    }
  }
  std::size_t entries() const { return last_.size(); }

 private:
  std::span<std::uint32_t> last_;
};

// Maps last accesses to their codes after the live slots of the axis have moved to its front.
// for_each_last(work) calls work(last) for each.
template <class ForEachLast>
inline void move_values(const TimeAxis& axis, ForEachLast&& for_each_last) {
  const LiveSlots::View slots = axis.slots.view();
  with_levels(axis.slots, [&]<int kLevels>() {
    for_each_last([&](std::uint32_t& last) {
      if (last == StackHoles::kDiscarded) return;
      last = LiveSlots::code_of(rank<kLevels>(slots, last) - 1);
    });
  });
}

// Moves the live slots to the front of the axis and updates all last accesses.
template <class Source>
[[gnu::noinline]] void move_to_front(Source& source, TimeAxis& axis) {
  move_values(axis, [&](auto&& move) { source.for_each_last(move); });
  axis.reset_for_blocks(source.entries());
}

// Turns the ranks of reuses into distances. position[i] accesses of the piece precede reuse i;
// those that are no reuses each add a live slot to the `live` ones.
inline void find_distances_by_rank(std::uint32_t live, const std::uint32_t* position,
                                   std::uint32_t reuses, std::uint32_t* ranks) {
  for (std::uint32_t i = 0; i < reuses; ++i) ranks[i] = live + position[i] - i - ranks[i];
}

// Turns distances into bin numbers.
inline void put_in_bins(std::uint32_t count, int bits, std::uint32_t* distances) {
  if (bits == 0) return;
  for (std::uint32_t i = 0; i < count; ++i) {
    distances[i] = static_cast<std::uint32_t>(DistanceBins::bin_of(distances[i], bits));
  }
}

template <class Source>
class DistanceLoop {
 public:
  using Key = typename Source::Key;
  using Handle = typename Source::Handle;

  // `distances` receives the distance of each key, unless it is null.
  DistanceLoop(Source& source, DistanceState& state, Count* distances)
      : source_(source), state_(state), axis_(state.axis), distances_(distances) {}

  // Processes keys from `begin` on. Returns the index of the first key not processed: the end, or
  // earlier if the source is full or there are more than `max_blocks` blocks.
  std::size_t run(std::span<const Key> keys, std::size_t begin, Count max_blocks) {
    Handle buffers[2][kChunk];
    Handle* now = buffers[0];
    Handle* next = buffers[1];
    const auto chunk_from = [&](std::size_t at) {
      return keys.subspan(at, std::min(kChunk, keys.size() - at));
    };
    bool fits = source_.prepare(chunk_from(begin), now);
    std::size_t at = begin;
    while (at < keys.size()) {
      const std::size_t count = chunk_from(at).size();
      if (!fits || !source_.make_room(count)) break;
      const auto ahead = chunk_from(at + count);
      fits = source_.prepare(ahead, next);
      std::size_t done = 0;
      while (done < count) {
        const std::size_t piece = begin_piece(count - done);
        const std::size_t taken = exchange({now + done, piece});
        count_pending();
        const std::size_t known = std::min(done, ahead.size());
        find_distances({next + known, std::min(piece, ahead.size() - known)});
        if (distances_ != nullptr) distances_ += taken;
        done += taken;
        if (taken < piece) break;
      }
      at += done;
      if (done < count || static_cast<Count>(axis_.distinct()) > max_blocks) break;
      std::swap(now, next);
    }
    count_pending();
    return at;
  }

 private:
  // Returns the length of the next piece, at most `most` and within a line of slots.
  std::size_t begin_piece(std::size_t most) {
    if (axis_.now >= axis_.slots.end_code()) move_to_front(source_, axis_);
    const std::size_t piece = std::min(most, axis_.room_in_line());
    state_.bins.make_room(axis_.distinct() + piece, piece);
    return piece;
  }

  // Stage 1. Returns the number of accesses processed.
  [[gnu::noinline]] std::size_t exchange(std::span<const Handle> handles) {
    const auto entries = source_.entries_now();
    const LiveSlots::View slots = axis_.slots.view();
    const std::uint32_t* const counts = state_.bins.counts();
    const auto now = static_cast<std::uint32_t>(axis_.now);
    const auto live = static_cast<std::uint32_t>(axis_.live);
    std::uint32_t reuses = 0;
    std::uint32_t i = 0;
    for (; i < handles.size(); ++i) {
      if (i < pending_) __builtin_prefetch(counts + pending_bins_[i], 1);
      const bool stored = entries.update(handles[i], [&](std::uint32_t before) {
        last_[reuses] = before;
        position_[reuses] = i;
        reuses += before == 0 ? 0 : 1;
        prefetch_slot(slots, before);
        return now + i;
      });
      if (!stored) [[unlikely]]
        break;
    }
    reuses_ = reuses;
    live_ = live;
    state_.cold += i - reuses;
    source_.add_new(i - reuses);
    axis_.live += i - reuses;
    axis_.advance(i);
    if (distances_ != nullptr) std::fill_n(distances_, i, kCold);
    return i;
  }

  // Stage 2, for the previous piece.
  void count_pending() {
    std::uint32_t* const counts = state_.bins.counts();
    for (std::uint32_t i = 0; i < pending_; ++i) ++counts[pending_bins_[i]];
    pending_ = 0;
  }

  // Stage 3.
  [[gnu::noinline]] void find_distances(std::span<const Handle> ahead) {
    const auto entries = source_.entries_now();
    const LiveSlots::View slots = axis_.slots.view();
    const std::size_t reuses = reuses_;
    with_levels(axis_.slots, [&]<int kLevels>() {
      take_slots<kLevels>(slots, last_, reuses, pending_bins_, [&](std::size_t i) {
        if (i < ahead.size()) entries.prefetch(ahead[i]);
      });
    });
    for (std::size_t i = reuses; i < ahead.size(); ++i) entries.prefetch(ahead[i]);
    find_distances_by_rank(live_, position_, reuses_, pending_bins_);
    if (distances_ != nullptr) {
      for (std::size_t i = 0; i < reuses; ++i) distances_[position_[i]] = pending_bins_[i];
    }
    put_in_bins(reuses_, state_.bins.bits(), pending_bins_);
    pending_ = reuses_;
  }

  Source& source_;
  DistanceState& state_;
  TimeAxis& axis_;
  Count* distances_;

  // The reuses among the accesses that stage 1 processed.
  std::uint32_t reuses_ = 0;
  std::uint32_t live_ = 0;              // live slots before the piece
  std::uint32_t last_[kChunk + 1];      // codes
  std::uint32_t position_[kChunk + 1];  // in the piece
  // Distances that stage 3 found and stage 2 has not counted yet.
  std::uint32_t pending_ = 0;
  std::uint32_t pending_bins_[kChunk];
};

// Returns false if there are more than `max_blocks` blocks.
inline bool count_keys(BlockTable& table, DistanceState& state, std::span<const std::uint64_t> keys,
                       Count* distances, Count max_blocks) {
  for (std::size_t done = 0; done < keys.size();) {
    Count* const rest = distances == nullptr ? nullptr : distances + done;
    const auto run = [&]<class Lines>() {
      KeySource<Lines> source(table);
      done = DistanceLoop(source, state, rest).run(keys, done, max_blocks);
      if (static_cast<Count>(state.axis.distinct()) > max_blocks) return false;
      resume<Lines>(table, keys, done);
      return true;
    };
    const bool counted = table.is_wide() ? run.template operator()<WideLines>()
                                         : run.template operator()<NarrowLines>();
    if (!counted) return false;
  }
  return true;
}

inline void count_dense(std::span<std::uint32_t> last, DistanceState& state,
                        std::span<const std::uint32_t> blocks, Count* distances) {
  assert(std::ranges::all_of(blocks, [&](std::uint32_t block) { return block < last.size(); }));
  DenseSource source(last);
  DistanceLoop(source, state, distances).run(blocks, 0, std::numeric_limits<Count>::max());
}

inline Count depth_of(const DistanceState& state, std::uint32_t code) {
  Count depth = 0;
  with_levels(state.axis.slots, [&]<int kLevels>() {
    depth = static_cast<Count>(state.axis.live) - rank<kLevels>(state.axis.slots.view(), code);
  });
  return depth;
}

inline void count_previous(DistanceState& state, std::span<const std::uint32_t> before,
                           Count* distances) {
  TimeAxis& axis = state.axis;
  const LiveSlots::View slots = axis.slots.view();
  state.bins.make_room(axis.live + before.size(), before.size());
  std::uint32_t* const counts = state.bins.counts();
  with_levels(axis.slots, [&]<int kLevels>() {
    for (std::size_t i = 0; i < before.size(); ++i) {
      const bool was_discarded = before[i] == StackHoles::kDiscarded;
      const std::uint32_t last = was_discarded ? 0 : before[i];
      const Count distance =
          last == 0 ? kCold : static_cast<Count>(axis.live) - rank<kLevels>(slots, last);
      if (last == 0) {
        ++state.cold;
        state.holes.discarded -= was_discarded ? 1 : 0;
      } else {
        ++counts[DistanceBins::bin_of(static_cast<std::uint64_t>(distance), state.bins.bits())];
      }
      if (distances != nullptr) distances[i] = distance;
      const std::uint32_t dead = state.holes.fill(last);
      std::uint32_t rank_of_dead;
      take_slots<kLevels>(slots, &dead, dead == 0 ? 0 : 1, &rank_of_dead, [](std::size_t) {});
      axis.live += dead == 0 ? 1 : 0;
    }
  });
  axis.advance(before.size());
}
