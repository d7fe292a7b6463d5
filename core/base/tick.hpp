#pragma once

#include <functional>

#include "core/base/status.hpp"
#include "core/base/types.hpp"

namespace mcsim {

// Called every ~100 ms of work with the number of accesses processed; a status that is not OK stops
// the work and is returned (Ctrl-C, a deadline). Always called on the thread that started the work.
using Tick = std::function<absl::Status(Count done)>;

}  // namespace mcsim
