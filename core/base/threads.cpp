#include "core/base/threads.hpp"

#include <tbb/task_arena.h>

namespace mcsim {

void prepare_threads() {
  tbb::task_arena arena(1);
  arena.execute([] {});
}

}  // namespace mcsim
