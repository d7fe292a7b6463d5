#pragma once

#include <cstdint>
#include <span>

#include "core/base/status.hpp"
#include "core/base/types.hpp"
#include "core/engine/policy/access.hpp"

namespace mcsim {

// The inputs with which a prefetcher is constructed.
struct PrefetchSetup {
  std::size_t vms = 1;
};

// The outcome of a block of a read request.
enum class ReadOutcome : std::uint8_t {
  kMiss,
  kHit,
  kFirstRead,  // a hit: the first read of a prefetched block
};

// A read request after it was served. Addresses are in blocks on the device of the VM.
struct PrefetchRead {
  const RequestContext& context;
  std::uint64_t first;
  std::span<const ReadOutcome> blocks;

  std::uint64_t end() const { return first + blocks.size(); }
};

// The cache, as a prefetcher sees it: the blocks of the VM that reads.
class PrefetchCache {
 public:
  virtual ~PrefetchCache() = default;

  // Whether a tier holds the block.
  virtual bool holds(std::uint64_t address) const = 0;
  // Remove the mark of the block; return whether it had one.
  virtual bool take_mark(std::uint64_t address) = 0;
  // Prefetch the blocks [begin, end) that no tier holds and that are not in the request. The block
  // at `mark` is marked if the request missed it or this call prefetched it, and a tier holds it.
  virtual void prefetch(std::uint64_t begin, std::uint64_t end, std::uint64_t mark) = 0;
};

// Decides after each read request of a VM which blocks are prefetched. A mark stays with a block
// until the block leaves or the mark is taken.
class Prefetcher {
 public:
  // No mark is set at this address.
  static constexpr std::uint64_t kNoMark = ~std::uint64_t{0};

  virtual ~Prefetcher() = default;

  // The maximum number of blocks after the end of a read request of `blocks` blocks that it may
  // prefetch.
  virtual std::uint64_t reach(std::uint64_t blocks) const = 0;
  // Whether it prefetches only after the first block of a device, and after a block whose
  // predecessor, or the block before that, was read or may have been prefetched.
  virtual bool needs_run() const = 0;
  // Process a read request.
  virtual void read(const PrefetchRead& request, PrefetchCache& cache) = 0;
};

}  // namespace mcsim
