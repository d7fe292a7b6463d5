#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "core/base/types.hpp"

namespace mcsim {

// A block that might come into a tier: missed there, or demoted to it.
struct Candidate {
  BlockId block;
  Count request_blocks;  // of the request that brings it, or pushed it down
  bool full;             // another block has to leave for it
};

// What an admission filter is made for.
struct AdmissionSetup {
  Count capacity = 1;      // of the tier, blocks
  std::size_t blocks = 0;  // ids are below this
  std::uint64_t seed = 1;
};

// Decides which blocks may come into a tier. What is refused is served from where it
// is and stays there.
class AdmissionFilter {
 public:
  virtual ~AdmissionFilter() = default;

  // An access reached the tier, whatever comes of it.
  virtual void record(BlockId) {}
  // A block left the tier for want of space.
  virtual void evicted(BlockId) {}
  virtual bool admits(const Candidate& candidate) = 0;

  // How long a read takes of what it staged with its data, in memory; none if it stages no data.
  virtual std::optional<Count> staged_ns() const { return std::nullopt; }
  // Whether it has the data of a block. What it has is as new as what the tiers or the backend
  // have, who have it, too: whoever writes a block writes it here, or drops it.
  virtual bool has_data(BlockId) const { return false; }
  virtual void drop_data(BlockId) {}
};

}  // namespace mcsim
