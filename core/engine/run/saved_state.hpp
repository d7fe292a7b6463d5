#pragma once

#include <memory>
#include <string>

#include "core/base/archive.hpp"
#include "core/base/files.hpp"
#include "core/base/status.hpp"
#include "core/engine/hosts/host.hpp"
#include "core/trace/accesses.hpp"
#include "core/trace/known_blocks.hpp"

// States of hosts in files.
namespace mcsim {

// The state files of a run; empty: none.
struct StateFiles {
  std::string from = {};
  std::string to = {};
  // A description of the system, its parameters and the sizes of its tiers. A file with another one
  // is refused.
  std::string setup = {};
};

// A file that was read: its blocks, and the state of a host behind them.
class SavedState {
 public:
  // Fails unless the file is whole, of this version of mcsim, and of this setup.
  static absl::StatusOr<SavedState> open(const StateFiles& files);

  const KnownBlocks& blocks() const { return blocks_; }
  // Load the state into a fresh host that was made for the continued trace.
  absl::Status load(Host& host, const Accesses& continued) const;

 private:
  std::shared_ptr<const Mapping> file_;
  ArchiveReader rest_{{}};
  KnownBlocks blocks_;
};

// Write the state of a host that replayed a trace with these blocks.
absl::Status save_state(Host& host, KnownBlocks blocks, const StateFiles& files);

}  // namespace mcsim
