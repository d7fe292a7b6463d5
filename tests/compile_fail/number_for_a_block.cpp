// A number becomes a block by name only.
#include <cstddef>

#include "core/base/types.hpp"

namespace mcsim {

bool is_first(BlockId block) { return block == 0; }

bool is_first_of(std::size_t vm) { return is_first(vm); }

}  // namespace mcsim
