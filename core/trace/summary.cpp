#include "core/trace/summary.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <utility>

namespace mcsim {
namespace {

double median_of(const boost::unordered_flat_map<std::uint32_t, Count>& sizes, Count total) {
  if (total == 0) return 0;
  std::vector<std::pair<std::uint32_t, Count>> sorted(sizes.begin(), sizes.end());
  std::ranges::sort(sorted);
  // The middle value, or the mean of the two middle ones.
  const auto value_at = [&](Count rank) {
    for (const auto& [size, count] : sorted) {
      if (rank < count) return static_cast<double>(size);
      rank -= count;
    }
    return 0.0;
  };
  return (value_at((total - 1) / 2) + value_at(total / 2)) / 2;
}

// Returns a tenth of a length, `tenths` times, rounded down.
std::uint64_t tenths_of(std::uint64_t length, std::size_t tenths) {
  return length / 10 * tenths + length % 10 * tenths / 10;
}

// Sums of log(r) and its square over the ranks r from 1 to n, by the Euler-Maclaurin formula beyond
// the first ranks.
struct LogSums {
  double logs = 0;
  double squares = 0;

  static LogSums integral(double at) {
    const double l = std::log(at);
    return {.logs = at * (l - 1) + l / 2 + 1 / (12 * at) - 1 / (360 * at * at * at),
            .squares = at * (l * l - 2 * l + 2) + l * l / 2 + l / (6 * at) -
                       (2 * l - 3) / (360 * at * at * at)};
  }

  static LogSums up_to(Count n) {
    constexpr std::size_t kFirst = 128;
    static const std::vector<LogSums> kSums = [] {
      std::vector<LogSums> sums(1);
      for (std::size_t rank = 1; rank <= kFirst; ++rank) {
        const double l = std::log(static_cast<double>(rank));
        sums.push_back({.logs = sums.back().logs + l, .squares = sums.back().squares + l * l});
      }
      return sums;
    }();
    if (n <= Count{kFirst}) return kSums[static_cast<std::size_t>(n)];
    const LogSums from = integral(kFirst), to = integral(static_cast<double>(n));
    return {.logs = kSums.back().logs + to.logs - from.logs,
            .squares = kSums.back().squares + to.squares - from.squares};
  }
};

// Returns the least-squares slope of log(count) over log(rank). Counts decrease; each has a number
// of ranks.
double slope_of(const std::vector<std::pair<std::uint32_t, Count>>& counts) {
  Count ranks = 0;
  double y = 0, xy = 0;
  for (const auto& [count, number] : counts) {
    // Relative to the largest count, so that equal counts have a slope of exactly 0.
    const double log_count = std::log(static_cast<double>(count) / counts.front().first);
    const double before = LogSums::up_to(ranks).logs;
    ranks += number;
    y += static_cast<double>(number) * log_count;
    xy += (LogSums::up_to(ranks).logs - before) * log_count;
  }
  const auto n = static_cast<double>(ranks);
  const LogSums x = LogSums::up_to(ranks);
  return ranks > 1 ? (n * xy - x.logs * y) / (n * x.squares - x.logs * x.logs) : 0;
}

void increment(std::uint32_t& count) {
  count += count != std::numeric_limits<std::uint32_t>::max();
}

}  // namespace

void TraceSummary::add(const RequestsView& chunk) {
  for (std::size_t i = 0; i < chunk.size(); ++i) {
    if (chunk.vm[i] >= vms_.size()) vms_.resize(chunk.vm[i] + std::size_t{1});
    Vm& vm = vms_[chunk.vm[i]];
    VmSummary& sum = vm.summary;
    const auto op = static_cast<Op>(chunk.op[i]);
    if (op == Op::kDiscard) {
      ++sum.discards;
      continue;
    }
    const Nanoseconds at = chunk.time[i];
    record_growth(at);
    sum.first_time = sum.requests == 0 ? at : std::min(sum.first_time, at);
    sum.last_time = sum.requests == 0 ? at : std::max(sum.last_time, at);
    add_request(vm, chunk.offset[i], chunk.length[i], op);
    ++requests_;
  }
}

void TraceSummary::add_request(Vm& vm, std::uint64_t offset, std::uint32_t length, Op op) {
  const bool is_read = op == Op::kRead;
  VmSummary& sum = vm.summary;
  ++sum.requests;
  sum.read_requests += is_read;
  sum.bytes += length;
  sum.write_bytes += is_read ? 0 : length;
  sum.largest_request = std::max(sum.largest_request, length);
  ++vm.sizes[length];
  if (kind_ == TraceKind::kObjects) {
    touch_object(vm, offset, is_read);
    return;
  }
  if (vm.end == offset) {
    ++sum.sequential_requests;
    sum.sequential_bytes += length;
  }
  vm.end = offset + length;
  if (length == 0) return;
  touch_blocks(vm, offset / block_bytes_, (offset + (length - 1)) / block_bytes_, is_read);
}

void TraceSummary::touch_object(Vm& vm, std::uint64_t key, bool is_read) {
  VmSummary& sum = vm.summary;
  Object& object = vm.objects[key];
  ++sum.blocks;
  sum.unique_blocks += object.accesses == 0;
  increment(object.accesses);
  if (!is_read) return;
  ++sum.read_blocks;
  sum.unique_read_blocks += !object.is_read;
  object.is_read = true;
}

void TraceSummary::touch_blocks(Vm& vm, std::uint64_t first, std::uint64_t last, bool is_read) {
  VmSummary& sum = vm.summary;
  const auto count = static_cast<Count>(last - first + 1);
  sum.blocks += count;
  sum.read_blocks += is_read ? count : 0;
  constexpr std::uint64_t kBits = 64;
  for (std::uint64_t key = first / kBits; key <= last / kBits; ++key) {
    const std::uint64_t from = std::max(first, key * kBits) % kBits;
    const std::uint64_t to = last / kBits == key ? last % kBits : kBits - 1;
    const std::uint64_t mask =
        (~std::uint64_t{0} >> (kBits - 1 - to)) & (~std::uint64_t{0} << from);
    Word& word = vm.words[key];
    const std::uint64_t repeated = mask & word.touched;
    sum.unique_blocks += std::popcount(mask & ~word.touched);
    word.touched |= mask;
    if (repeated != 0) count_repeats(vm, word, repeated);
    if (!is_read) continue;
    sum.unique_read_blocks += std::popcount(mask & ~word.read);
    word.read |= mask;
  }
}

void TraceSummary::count_repeats(Vm& vm, Word& word, std::uint64_t blocks) {
  constexpr std::uint64_t kAll = (1U << kPart) - 1;
  for (std::size_t part = 0; blocks != 0; ++part, blocks >>= kPart) {
    std::uint64_t bits = blocks & kAll;
    if (bits == 0) continue;
    std::uint32_t& number = word.repeats[part];
    if (number == 0) {
      vm.repeats.emplace_back();
      number = static_cast<std::uint32_t>(vm.repeats.size());
    }
    auto& counts = vm.repeats[number - 1];
    if (bits == kAll) {
      for (std::uint32_t& repeats : counts) increment(repeats);
      continue;
    }
    for (; bits != 0; bits &= bits - 1) {
      increment(counts[static_cast<std::size_t>(std::countr_zero(bits))]);
    }
  }
}

// Records the distinct blocks before a request that is the first of a new tenth.
void TraceSummary::record_growth(Nanoseconds now) {
  const auto requests = static_cast<std::uint64_t>(whole_.requests);
  while (tenths_of_requests_ < 10 &&
         static_cast<std::uint64_t>(requests_) >= tenths_of(requests, tenths_of_requests_ + 1)) {
    for (Vm& vm : vms_)
      vm.summary.growth_by_requests[tenths_of_requests_] = vm.summary.unique_blocks;
    ++tenths_of_requests_;
  }
  const auto since = [&](Nanoseconds time) {
    return static_cast<std::uint64_t>(time) - static_cast<std::uint64_t>(whole_.first_time);
  };
  while (tenths_of_time_ < 9 &&
         since(now) >= tenths_of(since(whole_.last_time), tenths_of_time_ + 1)) {
    for (Vm& vm : vms_) vm.summary.growth_by_time[tenths_of_time_] = vm.summary.unique_blocks;
    ++tenths_of_time_;
  }
}

TraceSummary::Histogram TraceSummary::histogram_of(const Vm& vm) {
  Histogram blocks;
  std::array<Count, 256> small{};  // most blocks have few accesses
  const auto add = [&](std::uint32_t accesses) {
    ++(accesses < small.size() ? small[accesses] : blocks[accesses]);
  };
  Count repeated = 0;
  for (const auto& counts : vm.repeats) {
    for (const std::uint32_t repeats : counts) {
      if (repeats == 0) continue;
      ++repeated;
      add(repeats + (repeats != std::numeric_limits<std::uint32_t>::max()));
    }
  }
  for (const auto& [_, object] : vm.objects) add(object.accesses);
  if (vm.objects.empty()) small[1] = vm.summary.unique_blocks - repeated;
  for (std::uint32_t accesses = 1; accesses < small.size(); ++accesses) {
    if (small[accesses] > 0) blocks[accesses] = small[accesses];
  }
  return blocks;
}

void TraceSummary::add_popularity(VmSummary& sum, const Histogram& blocks) {
  std::vector<std::pair<std::uint32_t, Count>> sorted(blocks.begin(), blocks.end());
  std::ranges::sort(sorted, std::greater{});
  const auto accesses_of_first = [&](Count most) {
    Count accesses = 0;
    for (const auto& [count, number] : sorted) {
      accesses += count * std::min(number, most);
      most -= std::min(number, most);
    }
    return accesses;
  };
  sum.once_blocks = !sorted.empty() && sorted.back().first == 1 ? sorted.back().second : 0;
  sum.top_1_percent_accesses = accesses_of_first((sum.unique_blocks + 99) / 100);
  sum.top_10_percent_accesses = accesses_of_first((sum.unique_blocks + 9) / 10);
  sum.zipf_exponent = 0 - slope_of(sorted);
}

VmSummary TraceSummary::completed(const Vm& vm) const {
  VmSummary sum = vm.summary;
  sum.median_request = median_of(vm.sizes, sum.requests);
  std::fill(sum.growth_by_requests.begin() + tenths_of_requests_, sum.growth_by_requests.end(),
            sum.unique_blocks);
  std::fill(sum.growth_by_time.begin() + tenths_of_time_, sum.growth_by_time.end(),
            sum.unique_blocks);
  return sum;
}

std::vector<VmSummary> TraceSummary::vms() const {
  std::vector<VmSummary> result;
  for (const Vm& vm : vms_) {
    result.push_back(completed(vm));
    add_popularity(result.back(), histogram_of(vm));
  }
  return result;
}

VmSummary TraceSummary::total() const {
  VmSummary total;
  boost::unordered_flat_map<std::uint32_t, Count> sizes;
  Histogram blocks;
  for (const Vm& vm : vms_) {
    const VmSummary part = completed(vm);
    total.discards += part.discards;
    if (part.requests == 0) continue;
    const bool is_first = total.requests == 0;
    total.first_time = is_first ? part.first_time : std::min(total.first_time, part.first_time);
    total.last_time = is_first ? part.last_time : std::max(total.last_time, part.last_time);
    total.requests += part.requests;
    total.read_requests += part.read_requests;
    total.blocks += part.blocks;
    total.read_blocks += part.read_blocks;
    total.unique_blocks += part.unique_blocks;
    total.unique_read_blocks += part.unique_read_blocks;
    total.bytes += part.bytes;
    total.write_bytes += part.write_bytes;
    total.sequential_requests += part.sequential_requests;
    total.sequential_bytes += part.sequential_bytes;
    total.largest_request = std::max(total.largest_request, part.largest_request);
    for (std::size_t i = 0; i < 10; ++i) {
      total.growth_by_requests[i] += part.growth_by_requests[i];
      total.growth_by_time[i] += part.growth_by_time[i];
    }
    for (const auto& [size, count] : vm.sizes) sizes[size] += count;
    for (const auto& [accesses, number] : histogram_of(vm)) blocks[accesses] += number;
  }
  total.median_request = median_of(sizes, total.requests);
  add_popularity(total, blocks);
  return total;
}

}  // namespace mcsim
