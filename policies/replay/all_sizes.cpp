#include "policies/replay/all_sizes.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <utility>

#include "core/base/cpu_clock.hpp"
#include "core/base/pages.hpp"
#include "core/locality/distances/exact_distances.hpp"
#include "core/locality/distances/reuse_distance.hpp"

namespace mcsim {
namespace {

constexpr std::size_t kPiece = std::size_t{1} << 16;

// Computes the distance of every access: the access hits in caches with more blocks than the
// distance.
class StackDistances {
 public:
  virtual ~StackDistances() = default;
  virtual void process(std::span<const BlockId> blocks, std::span<Count> distances) = 0;
  virtual Count distinct() const = 0;
  virtual std::size_t bytes() const = 0;
};

class LruDistances final : public StackDistances {
 public:
  explicit LruDistances(std::size_t unique) : distances_(unique) {}

  void process(std::span<const BlockId> blocks, std::span<Count> distances) override {
    distances_.process(numbers_of(blocks), distances);
  }
  Count distinct() const override { return distances_.distinct(); }
  std::size_t bytes() const override { return distances_.bytes(); }

  static std::size_t max_bytes(std::size_t unique) { return DenseDistances::max_bytes(unique); }

 private:
  DenseDistances distances_;
};

class MruDistances final : public StackDistances {
 public:
  explicit MruDistances(std::size_t unique) : stack_(unique), place_after_(unique) {}

  void process(std::span<const BlockId> blocks, std::span<Count> distances) override {
    for (std::size_t i = 0; i < blocks.size(); ++i) distances[i] = access(blocks[i]);
  }
  Count distinct() const override { return static_cast<Count>(size_); }
  std::size_t bytes() const override { return max_bytes(stack_.size()); }

  static std::size_t max_bytes(std::size_t unique) {
    return unique * (sizeof(BlockId) + sizeof(std::uint32_t));
  }

 private:
  // Exchange the block with the top of the stack; a new block takes the top and the former top goes
  // to the end.
  Count access(BlockId block) {
    const bool is_cold = place_after_[block] == 0;
    const std::size_t place = is_cold ? size_++ : place_after_[block] - 1;
    if (place > 0) put(stack_[0], place);
    put(block, 0);
    return is_cold ? kCold : static_cast<Count>(place);
  }
  void put(BlockId block, std::size_t place) {
    stack_[place] = block;
    place_after_[block] = static_cast<std::uint32_t>(place + 1);
  }

  Pages<BlockId> stack_;
  Pages<std::uint32_t> place_after_;  // place + 1; 0, the initial value of pages, is none
  std::size_t size_ = 0;
};

struct StackAlgorithm {
  std::string_view policy;
  std::size_t pays_from;  // as measured
  std::unique_ptr<StackDistances> (*make)(std::size_t unique);
  std::size_t (*max_bytes)(std::size_t unique);
};

template <class Distances>
constexpr StackAlgorithm algorithm(std::string_view policy, std::size_t pays_from) {
  return {policy, pays_from,
          [](std::size_t unique) -> std::unique_ptr<StackDistances> {
            return std::make_unique<Distances>(unique);
          },
          &Distances::max_bytes};
}

constexpr std::array kStackAlgorithms{algorithm<LruDistances>("lru", 3),
                                      algorithm<MruDistances>("mru", 4)};

const StackAlgorithm* find(std::string_view policy) {
  const auto* found = std::ranges::find(kStackAlgorithms, policy, &StackAlgorithm::policy);
  return found == kStackAlgorithms.end() ? nullptr : found;
}

// Counts by size the accesses that hit from that size on.
class Tally {
 public:
  explicit Tally(std::span<const Count> capacities) : sizes_(capacities.begin(), capacities.end()) {
    std::ranges::sort(sizes_);
    for (auto& hits : hits_) hits.resize(sizes_.size() + 1);
  }

  void add(std::span<const Count> distances, std::span<const std::uint8_t> ops) {
    for (std::size_t i = 0; i < distances.size(); ++i) {
      const std::size_t op = ops.empty() ? 0 : ops[i];
      ++accesses_[op];
      if (distances[i] == kCold) continue;
      const auto from = std::ranges::upper_bound(sizes_, distances[i]);
      ++hits_[op][static_cast<std::size_t>(from - sizes_.begin())];
    }
  }

  CacheCounts at(Count capacity, Count distinct) const {
    CacheCounts counts{.accesses = accesses_[0] + accesses_[1], .writes = accesses_[1]};
    for (std::size_t i = 0; i < sizes_.size() && sizes_[i] <= capacity; ++i) {
      counts.hits += hits_[0][i] + hits_[1][i];
      counts.write_hits += hits_[1][i];
    }
    // Blocks that were inserted and are no longer cached.
    counts.evictions = counts.misses() - std::min(capacity, distinct);
    return counts;
  }

 private:
  std::vector<Count> sizes_;                // never decreasing
  std::array<std::vector<Count>, 2> hits_;  // by operation: hits that smaller sizes miss
  std::array<Count, 2> accesses_{};
};

// The same for requests and bytes. A request hits from the size on at which all of its blocks hit.
class RequestTally {
 public:
  RequestTally(const RequestColumns& requests, std::span<const Count> capacities)
      : requests_(requests), sizes_(capacities.begin(), capacities.end()) {
    std::ranges::sort(sizes_);
    hits_.resize(sizes_.size() + 1);
  }

  // Add the distances of the next accesses.
  void add(std::span<const Count> distances) {
    if (requests_.size() == 0) return;
    for (const Count distance : distances) {
      const std::size_t access = access_++;
      while (requests_.begin[request_ + 1] <= access) ++request_;
      const std::size_t from = distance == kCold ? sizes_.size() : first_above(distance);
      last_ = std::max(last_, from);
      if (!requests_.bytes.empty()) {
        const Count bytes = requests_.bytes_of(request_, access - requests_.begin[request_]);
        all_.bytes += bytes;
        hits_[from].byte_hits += bytes;
      }
      if (access + 1 < requests_.begin[request_ + 1]) continue;
      ++all_.requests;
      ++hits_[std::exchange(last_, 0)].hits;
    }
  }

  RequestHits at(Count capacity) const {
    RequestHits sum = all_;
    for (std::size_t i = 0; i < sizes_.size() && sizes_[i] <= capacity; ++i) {
      sum.hits += hits_[i].hits;
      sum.byte_hits += hits_[i].byte_hits;
    }
    return sum;
  }

 private:
  std::size_t first_above(Count distance) const {
    return static_cast<std::size_t>(std::ranges::upper_bound(sizes_, distance) - sizes_.begin());
  }

  RequestColumns requests_;
  std::vector<Count> sizes_;       // never decreasing
  std::vector<RequestHits> hits_;  // hits that smaller sizes miss; the last: misses of all sizes
  RequestHits all_;
  std::size_t access_ = 0;
  std::size_t request_ = 0;
  std::size_t last_ =
      0;  // index of the smallest size at which all accesses of this request so far hit
};

}  // namespace

std::optional<std::size_t> one_pass_pays_from(std::string_view policy) {
  const StackAlgorithm* algorithm = find(policy);
  if (algorithm == nullptr) return std::nullopt;
  return algorithm->pays_from;
}

std::size_t bytes_of_all_sizes(std::string_view policy, std::size_t unique) {
  return find(policy)->max_bytes(unique) + kPiece * sizeof(Count);
}

absl::StatusOr<SizesPass> count_all_sizes(std::string_view policy, const AccessBatch<>& trace,
                                          std::size_t unique, std::span<const Count> capacities,
                                          const RequestColumns& requests,
                                          const std::function<absl::Status(std::size_t)>& tick) {
  const auto distances = find(policy)->make(unique);
  Tally tally(capacities);
  RequestTally by_request(requests, capacities);
  std::vector<Count> of_piece(std::min(kPiece, trace.blocks.size()));
  SizesPass pass;
  for (std::size_t begin = 0; begin < trace.blocks.size(); begin += kPiece) {
    const auto piece = trace.part(begin, kPiece);
    const auto found = std::span(of_piece).first(piece.blocks.size());
    const double start = cpu_seconds();
    distances->process(piece.blocks, found);
    tally.add(found, piece.ops);
    by_request.add(found);
    pass.seconds += cpu_seconds() - start;
    MCSIM_RETURN_IF_ERROR(tick(piece.blocks.size()));
  }
  for (const Count capacity : capacities) {
    pass.counts.push_back(tally.at(capacity, distances->distinct()));
    pass.requests.push_back(by_request.at(capacity));
  }
  pass.bytes = distances->bytes() + of_piece.size() * sizeof(Count);
  return pass;
}

}  // namespace mcsim
