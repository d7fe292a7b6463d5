#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <tuple>

#include "core/base/archive.hpp"
#include "core/base/status.hpp"
#include "core/base/types.hpp"
#include "core/engine/policy/access.hpp"

namespace mcsim {

// The inputs with which an admission filter is constructed.
struct AdmissionSetup {
  Count capacity = 1;      // of the tier, blocks
  std::size_t blocks = 0;  // ids are below this
  std::uint64_t seed = 1;
};

// Decides which blocks enter a tier. A rejected block is served from its current location and stays
// there. A filter that reads the byte range of requests (RequestContext) declares it.
class AdmissionFilter {
 public:
  virtual ~AdmissionFilter() = default;

  virtual bool reads_addresses() const { return false; }

  // Record an access that reached the tier, whatever its outcome.
  virtual void record(const Access<>&) {}
  // Record the eviction of a block for lack of space.
  virtual void evicted(BlockId) {}
  // Return whether a block enters: missed in the tier, or demoted to it. `full`: whether another
  // block has to leave for it.
  virtual bool admits(const Access<>& a, bool full) = 0;

  // Duration of a read of staged data, in memory; none if the filter stages no data.
  virtual std::optional<Count> staged_ns() const { return std::nullopt; }
  // Return whether the data of a block is staged. Staged data is as new as that of the tiers or the
  // backend: every write of a block writes it here, too, or drops it.
  virtual bool has_data(BlockId) const { return false; }
  virtual void drop_data(BlockId) {}

  // Save the state, or load it into a fresh filter with the same parameters and capacity.
  virtual absl::Status save(ArchiveWriter&) { return refuse_state(); }
  virtual absl::Status load(ArchiveReader&) { return refuse_state(); }

 private:
  static absl::Status refuse_state() {
    return invalid_argument("this admission filter does not declare a state");
  }
};

// A filter F that declares its state (core/base/archive.hpp).
template <class F>
class SavableFilter : public AdmissionFilter {
 public:
  absl::Status save(ArchiveWriter& to) final {
    to(std::string(F::kInfo.name));
    std::apply(to, static_cast<F&>(*this).state());
    return absl::OkStatus();
  }
  absl::Status load(ArchiveReader& from) final {
    std::string name;
    from(name);
    if (from.ok() && name != F::kInfo.name) {
      return invalid_argument("the state is one of the filter {}, not of {}", name, F::kInfo.name);
    }
    std::apply(from, static_cast<F&>(*this).state());
    return from.status();
  }
};

}  // namespace mcsim
