#include <algorithm>
#include <array>
#include <cassert>
#include <numeric>

#include "core/locality/profile/sliding_window.hpp"
#include "core/locality/profile/trace_meter.hpp"

namespace mcsim {
namespace {

// Radix sort. `spare` is scratch memory.
void sort_by_digits(std::span<std::uint32_t> numbers, std::vector<std::uint32_t>& spare) {
  constexpr int kBits = 11;
  constexpr std::size_t kDigits = std::size_t{1} << kBits;
  if (numbers.size() < kDigits) {
    std::ranges::sort(numbers);
    return;
  }
  const std::uint32_t largest = std::ranges::max(numbers);
  spare.resize(numbers.size());
  std::span<std::uint32_t> from = numbers;
  std::span<std::uint32_t> to = spare;
  for (int shift = 0; shift < 32 && (largest >> shift) != 0; shift += kBits) {
    const auto digit = [&](std::uint32_t number) { return (number >> shift) % kDigits; };
    std::array<std::uint32_t, kDigits> next{};  // index of the next number with that digit
    for (const std::uint32_t number : from) ++next[digit(number)];
    std::exclusive_scan(next.begin(), next.end(), next.begin(), 0U);
    for (const std::uint32_t number : from) to[next[digit(number)]++] = number;
    std::swap(from, to);
  }
  if (from.data() != numbers.data()) std::ranges::copy(from, numbers.begin());
}

// Distances of one age that are not in the log yet.
class PendingDistances {
 public:
  void make_room(std::size_t more) {
    if (distances_.size() < size_ + more + 1) {
      distances_.resize(std::max(size_ + more + 1, 2 * distances_.size()));
    }
  }
  // Written without a branch: the next value overwrites one that does not stay.
  void add(Count distance, bool stays) {
    distances_[size_] = static_cast<std::uint32_t>(distance);
    size_ += stays ? 1 : 0;
  }
  void move_to(DistanceLog& log, std::size_t age, std::vector<std::uint32_t>& spare) {
    const auto sorted = std::span(distances_).first(size_);
    sort_by_digits(sorted, spare);
    for (std::size_t i = 0; i < sorted.size();) {
      std::size_t end = i + 1;
      while (end < sorted.size() && sorted[end] == sorted[i]) ++end;
      log.add(age, {sorted[i], static_cast<std::uint32_t>(end - i)});
      i = end;
    }
    size_ = 0;
  }

 private:
  std::vector<std::uint32_t> distances_;
  std::size_t size_ = 0;
};

// Logs distances by age. With `kOnlyReads` it logs those of reads in a stream of all accesses.
template <bool kOnlyReads>
class CurveOfVm final : public TraceMeter {
 public:
  CurveOfVm(DistanceLog& log, Between between)
      : log_(log), between_(between), ages_(log.ages()), across_(log.ages()) {}

  void count(const Chunk& chunk) override {
    const Stream& stream = chunk.of(between_);
    assert(!kOnlyReads || chunk.writes.size() == stream.distances.size());
    make_room(stream.distances.size());
    stream.for_each_run(
        [&](std::size_t begin, std::size_t end) {
          const auto distances = stream.distances.subspan(begin, end - begin);
          const auto writes = kOnlyReads ? chunk.writes.subspan(begin, end - begin) : chunk.writes;
          log_.ages() == 1 ? count_within(distances, writes) : count_ages(distances, writes);
        },
        [&](const Removal& removal) { ages_.remove(removal.depth); });
    accesses_ += static_cast<Count>(stream.distances.size());
    if constexpr (kOnlyReads) {
      accesses_ -= std::accumulate(chunk.writes.begin(), chunk.writes.end(), Count{0});
    }
  }

  void end_period(std::size_t) override {
    flush();
    log_.end_period(std::exchange(accesses_, 0));
    ages_.end_period();
  }

 private:
  static bool counted(std::span<const std::uint8_t> writes, std::size_t i) {
    if constexpr (kOnlyReads) return writes[i] == 0;
    return true;
  }

  // Counts distances within the period and logs the others.
  void count_within(std::span<const Count> distances, std::span<const std::uint8_t> writes) {
    ages_.stack().add_all(distances, [&](std::size_t i, bool fresh) {
      const Count distance = distances[i];
      // Written without a branch: index 0 collects the distances that are not within the period.
      const bool within = !fresh && counted(writes, i);
      ++within_[within ? static_cast<std::size_t>(distance) + 1 : 0];
      across_.front().add(distance, fresh && distance != kCold && counted(writes, i));
    });
  }

  void count_ages(std::span<const Count> distances, std::span<const std::uint8_t> writes) {
    for (std::size_t i = 0; i < distances.size(); ++i) {
      const Count distance = distances[i];
      const std::size_t age = ages_.of(distance);
      if (distance == kCold || !counted(writes, i)) continue;
      if (age == 0) {
        ++within_[static_cast<std::size_t>(distance) + 1];
      } else {
        across_[age - 1].add(distance, true);
      }
    }
  }

  // Makes room for distances within a period, which are below the depth of its stack; prevents
  // overflows.
  void make_room(std::size_t more) {
    if (unlogged_ + more > std::numeric_limits<std::uint32_t>::max()) flush();
    unlogged_ += more;
    const std::size_t places = static_cast<std::size_t>(ages_.stack().depth()) + more + 1;
    if (within_.size() < places) within_.resize(std::max(places, 2 * within_.size()));
    for (PendingDistances& of_age : across_) of_age.make_room(more);
  }

  void flush() {
    const std::size_t places = static_cast<std::size_t>(ages_.stack().depth()) + 1;
    const auto within = std::span(within_).first(std::min(within_.size(), places));
    for (std::size_t place = 1; place < within.size(); ++place) {
      if (within[place] == 0) continue;
      log_.add(0, {static_cast<std::uint32_t>(place - 1), within[place]});
    }
    std::ranges::fill(within, 0U);
    for (std::size_t age = 0; age < across_.size(); ++age) {
      across_[age].move_to(log_, age + 1, spare_);
    }
    unlogged_ = 0;
  }

  DistanceLog& log_;
  Between between_;
  Count accesses_ = 0;
  Ages ages_;
  std::uint64_t unlogged_ = 0;
  std::vector<std::uint32_t> within_;     // how often distance d occurred, at index d + 1
  std::vector<PendingDistances> across_;  // by age, from 1 on
  std::vector<std::uint32_t> spare_;      // scratch memory for sorting
};

}  // namespace

TraceMeterPtr make_meter(const CurveMeter& meter, const MeterSetup& setup, VmId vm,
                         std::vector<DistanceLog>& into) {
  if (meter.foresight == Foresight::kWhole) return nullptr;
  if (setup.has_writes && meter.ops == OpFilter::kReads && meter.between == Between::kAll) {
    return std::make_unique<CurveOfVm<true>>(into[vm], meter.between);
  }
  return std::make_unique<CurveOfVm<false>>(into[vm], meter.between);
}

}  // namespace mcsim
