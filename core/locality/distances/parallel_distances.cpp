#include "core/locality/distances/parallel_distances.hpp"

#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <bit>
#include <numeric>
#include <utility>
#include <vector>

#include "core/base/cpu_clock.hpp"
#include "core/base/pages.hpp"
#include "core/locality/distances/distance_state.hpp"
#include "core/locality/distances/last_access_parts.hpp"

namespace mcsim {
namespace parallel_internal {
namespace {

constexpr int kMostThreads = 256;  // a part is numbered by a byte
constexpr std::size_t kSegmentPerThread = std::size_t{1} << 19;
constexpr std::size_t kMostSegment = std::size_t{1} << 24;
// Up to so many threads, if they are 2^k, each look through all accesses for those to their
// part, which is a vector compare; others divide the accesses first.
constexpr std::size_t kMostLooking = 4;
// How many they look through before they exchange what they found.
constexpr std::size_t kLookThrough = std::size_t{1} << 16;
// Accesses that a thread divides at a time: they and what they are sorted into fit
// the second-level cache.
constexpr std::size_t kCellSize = std::size_t{1} << 17;
// Slots that the time axis has at least, so that little is moved early: 3 MB.
constexpr std::size_t kFewestSlots = std::size_t{5} << 22;

std::uint32_t slot_of(std::uint64_t code) {
  return static_cast<std::uint32_t>(code / LiveSlots::kLineCodes * LiveSlots::kLineSlots +
                                    code % LiveSlots::kLineCodes);
}

// Unlike LiveSlots::code_of, of one past the last slot, too.
std::uint64_t code_of(std::uint64_t slot) {
  return slot / LiveSlots::kLineSlots * LiveSlots::kLineCodes + slot % LiveSlots::kLineSlots;
}

constexpr std::uint64_t kEndOfCodes = std::uint64_t{1} << 32;

std::uint64_t end_of_group(std::uint64_t code) {
  return (code / LiveSlots::kGroupCodes + 1) * LiveSlots::kGroupCodes;
}

// Two counters a part in turns, for incrementing one takes longer than the rest.
void count_parts(std::span<const std::uint8_t> part_of,
                 std::array<std::size_t, kMostThreads>& counts) {
  std::array<std::size_t, kMostThreads> odd{};
  std::size_t i = 0;
  for (; i + 1 < part_of.size(); i += 2) {
    ++counts[part_of[i]];
    ++odd[part_of[i + 1]];
  }
  if (i < part_of.size()) ++counts[part_of[i]];
  for (std::size_t part = 0; part < counts.size(); ++part) counts[part] += odd[part];
}

}  // namespace

template <class Blocks>
class Engine {
 public:
  using Key = typename Blocks::Key;

  Engine(ParallelOptions options, Blocks blocks)
      : options_(options), blocks_(std::move(blocks)), arena_(options.threads) {
    for (std::size_t i = 0; i < threads(); ++i) {
      counters_.push_back({DistanceBins(options.distances.bin_bits), 1.0 / options.threads, {}});
    }
  }

  static ParallelOptions checked(ParallelOptions options) {
    options.threads = std::clamp(options.threads, 1, kMostThreads);
    return options;
  }

  absl::Status process(std::span<const Key> keys) {
    while (!keys.empty()) {
      const std::size_t segment = segment_size();
      if (waiting_.empty() && keys.size() >= segment) {
        MCSIM_RETURN_IF_ERROR(run(keys.first(segment)));
        keys = keys.subspan(segment);
        continue;
      }
      const std::size_t taken = std::min(keys.size(), segment - std::min(segment, waiting_.size()));
      waiting_.insert(waiting_.end(), keys.begin(),
                      keys.begin() + static_cast<std::ptrdiff_t>(taken));
      keys = keys.subspan(taken);
      if (waiting_.size() >= segment) MCSIM_RETURN_IF_ERROR(finish());
    }
    return absl::OkStatus();
  }

  // Works on what waits. Its memory is kept, for fresh pages cost as much as counting.
  absl::Status finish() {
    if (waiting_.empty()) return absl::OkStatus();
    const absl::Status status = run(waiting_);
    waiting_.clear();
    return status;
  }

  DistanceHistogram histogram() const {
    DistanceHistogram sum;
    for (const Counter& counter : counters_) sum.merge(counter.bins.histogram(0));
    sum.cold += cold_;
    return sum;
  }

  Count distinct() const { return static_cast<Count>(axis_.distinct()); }

  std::size_t bytes() const {
    std::size_t sum = sizeof *this + blocks_.bytes() + waiting_.capacity() * sizeof(Key) +
                      keys_.bytes() + found_.bytes() + part_of_.bytes() + codes_.bytes() +
                      axis_.slots.bytes();
    for (const Counter& counter : counters_) {
      sum += sizeof counter + counter.bins.bytes() + counter.group_counts.bytes();
    }
    return sum;
  }

  const PhaseTimes& times() const { return times_; }

 private:
  // Consecutive accesses of a segment, which one thread divides.
  struct Cell {
    std::size_t begin;
    std::size_t end;
    // Where its room in codes_ begins, and where its accesses to each part lie there.
    std::size_t room;
    std::array<std::size_t, kMostThreads> part_begin{};
    std::array<std::size_t, kMostThreads> part_end{};
    std::array<Count, kMostThreads> fresh{};  // blocks, by part

    std::size_t size() const { return end - begin; }
  };
  // Cells in the order of time.
  using Chunk = std::span<Cell>;
  // What a thread counts with.
  struct Counter {
    DistanceBins bins;
    double share;                       // of the accesses
    Pages<std::uint32_t> group_counts;  // instead of those of the axis
  };

  std::size_t threads() const { return static_cast<std::size_t>(options_.threads); }

  std::size_t segment_size() const {
    if (options_.segment > 0) return options_.segment;
    return std::min(threads() * kSegmentPerThread, kMostSegment);
  }

  // Calls work(0), …, work(tasks - 1), each on a thread of its own, and takes the time;
  // returns the seconds of each.
  template <class Work>
  std::vector<double> for_each(ParallelPhase phase, std::size_t tasks, Work&& work) {
    std::vector<double> seconds(tasks);
    arena_.execute([&] {
      tbb::parallel_for(
          tbb::blocked_range<std::size_t>(0, tasks, 1),
          [&](const tbb::blocked_range<std::size_t>& range) {
            for (std::size_t i = range.begin(); i < range.end(); ++i) {
              const double before = cpu_seconds();
              work(i);
              seconds[i] = cpu_seconds() - before;
            }
          },
          tbb::simple_partitioner());
    });
    PhaseTime& time = times_[static_cast<std::size_t>(phase)];
    time.critical += *std::max_element(seconds.begin(), seconds.end());
    for (const double task : seconds) time.total += task;
    return seconds;
  }

  absl::Status run(std::span<const Key> keys) {
    const std::size_t chunks = std::min(threads(), keys.size());
    const std::size_t rows = looks() ? 1 : (keys.size() - 1) / (chunks * kCellSize) + 1;
    std::vector<Cell> cells(chunks * rows);
    for (std::size_t i = 0; i < cells.size(); ++i) {
      cells[i].begin = i * keys.size() / cells.size();
      cells[i].end = (i + 1) * keys.size() / cells.size();
      cells[i].room = cells[i].begin + i * threads() * kPartSlack;
    }
    make_room(keys.size(), cells.size());
    const std::uint32_t first_slot = slot_of(axis_.now);
    if (looks()) {
      for_each(ParallelPhase::kExchange, threads(),
               [&](std::size_t part) { select_and_exchange(part, keys, first_slot, cells); });
    } else {
      divide_and_exchange(keys, first_slot, cells);
    }
    for_each(ParallelPhase::kGather, chunks, [&](std::size_t c) {
      for (const Cell& cell : Chunk(cells).subspan(c * rows, rows)) gather(cell);
    });
    count({codes_.data(), keys.size()}, cells);
    if (distinct() <= options_.distances.max_blocks) return absl::OkStatus();
    return too_many_blocks(options_.distances.max_blocks);
  }

  bool looks() const { return std::has_single_bit(threads()) && threads() <= kMostLooking; }

  void make_room(std::size_t accesses, std::size_t cells) {
    const std::size_t slack = threads() * kPartSlack;
    if (looks()) {
      keys_.extend(threads() * (kLookThrough + kPartSlack));
      found_.extend(threads() * (accesses + kPartSlack));  // most of which is never touched
    } else {
      keys_.extend(threads() * (kCellSize + 1 + slack));
      found_.extend(accesses + cells * slack);
    }
    part_of_.extend(accesses);
    codes_.extend(accesses);
    if (slot_of(axis_.now) + accesses <= axis_.slots.size()) return;
    for_each(ParallelPhase::kMove, threads(), [&](std::size_t part) { blocks_.move(part, axis_); });
    for_each(ParallelPhase::kMove, 1, [&](std::size_t) {
      const std::size_t wanted = TimeAxis::kSlotsPerBlock * static_cast<std::size_t>(distinct());
      axis_.begin_again_with(std::max(wanted, kFewestSlots) + accesses);
    });
  }

  // The codes of a part lie one after the other, of all cells.
  void select_and_exchange(std::size_t part, std::span<const Key> keys, std::uint32_t first_slot,
                           Chunk cells) {
    Key* const found = keys_.data() + part * (kLookThrough + kPartSlack);
    std::size_t at = part * (keys.size() + kPartSlack);
    for (std::size_t c = 0; c < cells.size(); ++c) {
      Cell& cell = cells[c];
      cell.part_begin[part] = at;
      for (std::size_t i = cell.begin; i < cell.end; i += kLookThrough) {
        const auto some = keys.subspan(i, std::min(kLookThrough, cell.end - i));
        const std::size_t count = Blocks::select(
            some, static_cast<std::uint32_t>(threads()), static_cast<std::uint32_t>(part),
            static_cast<std::uint32_t>(first_slot + i), found, found_.data() + at,
            c == part ? part_of_.data() + i : nullptr);
        cell.fresh[part] += blocks_.exchange(part, {found, count}, {found_.data() + at, count});
        at += count;
      }
      cell.part_end[part] = at;
    }
  }

  // Each row of cells is exchanged while what it was divided into is in the caches.
  void divide_and_exchange(std::span<const Key> keys, std::uint32_t first_slot, Chunk cells) {
    const std::size_t chunks = std::min(threads(), keys.size());
    for (std::size_t row = 0; row < cells.size(); row += chunks) {
      const Chunk in_row = cells.subspan(row, chunks);
      for_each(ParallelPhase::kDivide, chunks,
               [&](std::size_t i) { divide(keys, first_slot, in_row.front().room, in_row[i]); });
      for_each(ParallelPhase::kExchange, threads(), [&](std::size_t part) {
        for (Cell& cell : in_row) exchange(part, in_row.front().room, cell);
      });
    }
  }

  // Sorts a cell's accesses by part; each gets its code on the time axis. The keys go
  // to keys_ as the codes to found_, of which it has one row from `row_room` on.
  void divide(std::span<const Key> keys, std::uint32_t first_slot, std::size_t row_room,
              Cell& cell) {
    const std::span<const Key> mine = keys.subspan(cell.begin, cell.size());
    const std::span<std::uint8_t> part_of(part_of_.data() + cell.begin, cell.size());
    Blocks::divide(mine, static_cast<std::uint32_t>(threads()), part_of);
    std::array<std::size_t, kMostThreads> counts{};
    count_parts(part_of, counts);
    std::array<Key*, kMostThreads> to_keys;
    std::array<std::uint32_t*, kMostThreads> to_codes;
    std::size_t at = cell.room;
    for (std::size_t part = 0; part < threads(); ++part) {
      to_keys[part] = keys_.data() + (at - row_room);
      to_codes[part] = found_.data() + at;
      cell.part_begin[part] = at;
      cell.part_end[part] = at + counts[part];
      at = cell.part_end[part] + kPartSlack;
    }
    Blocks::scatter(mine, part_of, static_cast<std::uint32_t>(first_slot + cell.begin),
                    std::span(to_keys).first(threads()), std::span(to_codes).first(threads()));
  }

  std::span<std::uint32_t> codes_of(const Cell& cell, std::size_t part) const {
    const std::size_t begin = cell.part_begin[part];
    return {found_.data() + begin, cell.part_end[part] - begin};
  }

  void exchange(std::size_t part, std::size_t row_room, Cell& cell) {
    const std::span<std::uint32_t> codes = codes_of(cell, part);
    const std::span<const Key> keys(keys_.data() + (cell.part_begin[part] - row_room),
                                    codes.size());
    cell.fresh[part] = blocks_.exchange(part, keys, codes);
  }

  // Puts the codes found of a cell in the order of time.
  void gather(const Cell& cell) {
    std::vector<const std::uint32_t*> lists(threads());
    for (std::size_t part = 0; part < threads(); ++part) lists[part] = codes_of(cell, part).data();
    with_isa([&]<Isa kIsa>() {
      gather_codes<kIsa>({part_of_.data() + cell.begin, cell.size()}, lists,
                         {codes_.data() + cell.begin, cell.size()});
    });
  }

  // Each thread counts the accesses whose last ones lie in a stretch of the time axis. What
  // dies before its stretch it knows from how many accesses there were to that.
  void count(std::span<const std::uint32_t> codes, Chunk cells) {
    const auto live = static_cast<std::uint32_t>(axis_.live);
    for (const Cell& cell : cells) {
      for (const Count fresh : cell.fresh) {
        axis_.live += static_cast<std::uint64_t>(fresh);
        cold_ += fresh;
      }
    }
    axis_.now = code_of(slot_of(axis_.now) + codes.size());
    std::vector<std::uint64_t> bounds;
    for_each(ParallelPhase::kCount, 1, [&](std::size_t) { bounds = divide_axis(codes); });
    balance(for_each(ParallelPhase::kCount, threads(), [&](std::size_t i) {
      count_between(bounds[i], bounds[i + 1], codes, live, counters_[i]);
    }));
    for_each(ParallelPhase::kCount, 1, [&](std::size_t) { add_up_groups(); });
  }

  void count_between(std::uint64_t begin, std::uint64_t end, std::span<const std::uint32_t> codes,
                     std::uint32_t live, Counter& counter) {
    const std::span<const std::uint32_t> groups = axis_.slots.group_counts();
    if (counter.group_counts.size() != groups.size()) {
      counter.group_counts = Pages<std::uint32_t>(groups.size());
    }
    std::ranges::copy(groups, counter.group_counts.begin());
    counter.bins.make_room(axis_.distinct(), codes.size());
    if (begin == end) return;
    with_isa([&]<Isa kIsa>() {
      count_stretch<kIsa>(axis_.slots, counter.group_counts.data(), counter.bins, codes,
                          static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(end - 1),
                          live);
    });
  }

  // All threads began with the same counts of groups, and each subtracted its own.
  void add_up_groups() {
    const std::span<std::uint32_t> groups = axis_.slots.group_counts();
    for (std::size_t group = 0; group < groups.size(); ++group) {
      const std::uint32_t before = groups[group];
      for (const Counter& counter : counters_) {
        groups[group] += counter.group_counts[group] - before;
      }
    }
  }

  // Codes between which the stretches lie, so that each thread has its share of the accesses
  // to count, by a sample of them.
  std::vector<std::uint64_t> divide_axis(std::span<const std::uint32_t> codes) const {
    constexpr std::size_t kSampled = 4096;
    std::vector<std::uint64_t> sample;
    for (std::size_t i = 0; i < codes.size(); i += codes.size() / kSampled + 1) {
      if (codes[i] != 0) sample.push_back(codes[i]);
    }
    std::ranges::sort(sample);
    std::vector<std::uint64_t> bounds{1};
    double share = 0;
    for (std::size_t i = 0; i + 1 < threads(); ++i) {
      share += counters_[i].share;
      const auto before = static_cast<std::size_t>(share * static_cast<double>(sample.size()));
      bounds.push_back(before < sample.size() ? end_of_group(sample[before]) : kEndOfCodes);
    }
    bounds.push_back(kEndOfCodes);
    return bounds;
  }

  // Accesses to what lies long ago cost more, and first ones nearly nothing: whoever took
  // longer gets less of the next segment. What is counted does not depend on it.
  void balance(const std::vector<double>& seconds) {
    const double mean = std::accumulate(seconds.begin(), seconds.end(), 0.0) / options_.threads;
    double sum = 0;
    for (std::size_t i = 0; i < threads(); ++i) {
      double& share = counters_[i].share;
      share *= (1 + std::clamp(mean / seconds[i], 0.5, 2.0)) / 2;
      share = std::max(share, 0.1 / options_.threads);
      sum += share;
    }
    for (Counter& counter : counters_) counter.share /= sum;
  }

  ParallelOptions options_;
  Blocks blocks_;
  tbb::task_arena arena_;
  TimeAxis axis_;
  Count cold_ = 0;
  std::vector<Counter> counters_;  // by thread
  PhaseTimes times_{};
  std::vector<Key> waiting_;
  Pages<Key> keys_;             // found in one go by each thread, or of a row of cells, by part
  Pages<std::uint32_t> found_;  // codes of the segment's accesses, where the cells say
  Pages<std::uint8_t> part_of_;
  Pages<std::uint32_t> codes_;  // the same codes in the order of time
};

}  // namespace parallel_internal

using parallel_internal::DenseParts;
using parallel_internal::Engine;
using parallel_internal::KeyParts;

ParallelDistances::ParallelDistances(ParallelOptions options) {
  options = Engine<KeyParts>::checked(options);
  engine_ = std::make_unique<Engine<KeyParts>>(options,
                                               KeyParts(static_cast<std::size_t>(options.threads)));
}
ParallelDistances::ParallelDistances(ParallelDistances&&) noexcept = default;
ParallelDistances& ParallelDistances::operator=(ParallelDistances&&) noexcept = default;
ParallelDistances::~ParallelDistances() = default;

absl::Status ParallelDistances::process(std::span<const std::uint64_t> keys) {
  return engine_->process(keys);
}
absl::StatusOr<DistanceHistogram> ParallelDistances::histogram() const {
  MCSIM_RETURN_IF_ERROR(engine_->finish());
  return engine_->histogram();
}
Count ParallelDistances::distinct() const {
  engine_->finish().IgnoreError();  // too many blocks are counted all the same
  return engine_->distinct();
}
std::size_t ParallelDistances::bytes() const { return sizeof *this + engine_->bytes(); }
const PhaseTimes& ParallelDistances::times() const { return engine_->times(); }

ParallelDenseDistances::ParallelDenseDistances(std::size_t blocks, ParallelOptions options) {
  options = Engine<DenseParts>::checked(options);
  // An array of so many blocks was asked for: there cannot be too many.
  options.distances.max_blocks = DistanceOptions::kMaxBlocks;
  engine_ = std::make_unique<Engine<DenseParts>>(
      options, DenseParts(static_cast<std::size_t>(options.threads), blocks));
}
ParallelDenseDistances::ParallelDenseDistances(ParallelDenseDistances&&) noexcept = default;
ParallelDenseDistances& ParallelDenseDistances::operator=(ParallelDenseDistances&&) noexcept =
    default;
ParallelDenseDistances::~ParallelDenseDistances() = default;

void ParallelDenseDistances::process(std::span<const std::uint32_t> blocks) {
  engine_->process(blocks).IgnoreError();  // fails on too many blocks alone
}
DistanceHistogram ParallelDenseDistances::histogram() const {
  engine_->finish().IgnoreError();
  return engine_->histogram();
}
Count ParallelDenseDistances::distinct() const {
  engine_->finish().IgnoreError();
  return engine_->distinct();
}
std::size_t ParallelDenseDistances::bytes() const { return sizeof *this + engine_->bytes(); }
const PhaseTimes& ParallelDenseDistances::times() const { return engine_->times(); }

}  // namespace mcsim
