#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "core/base/types.hpp"

namespace mcsim {

// A block that may enter a tier: missed there, or demoted to it.
struct Candidate {
  BlockId block;
  Count request_blocks;  // size of the request that accesses the block or demotes it
  bool full;             // whether another block has to leave for it
};

// The inputs with which an admission filter is constructed.
struct AdmissionSetup {
  Count capacity = 1;      // of the tier, blocks
  std::size_t blocks = 0;  // ids are below this
  std::uint64_t seed = 1;
};

// Decides which blocks enter a tier. A rejected block is served from its current location and stays
// there.
class AdmissionFilter {
 public:
  virtual ~AdmissionFilter() = default;

  // Record an access that reached the tier, whatever its outcome.
  virtual void record(BlockId) {}
  // Record the eviction of a block for lack of space.
  virtual void evicted(BlockId) {}
  virtual bool admits(const Candidate& candidate) = 0;

  // Duration of a read of staged data, in memory; none if the filter stages no data.
  virtual std::optional<Count> staged_ns() const { return std::nullopt; }
  // Return whether the data of a block is staged. Staged data is as new as that of the tiers or the
  // backend: every write of a block writes it here, too, or drops it.
  virtual bool has_data(BlockId) const { return false; }
  virtual void drop_data(BlockId) {}
};

}  // namespace mcsim
