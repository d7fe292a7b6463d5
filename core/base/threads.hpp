#pragma once

namespace mcsim {

// oneTBB makes itself ready when it is first used, and waits for ever if memory runs out in
// the middle of that: to be called while there is some, when a program begins.
void prepare_threads();

}  // namespace mcsim
