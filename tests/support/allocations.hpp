#pragma once

namespace mcsim {

// Calls of operator new in this program so far.
long allocations();

}  // namespace mcsim
