#pragma once

namespace mcsim {

// Initialise oneTBB. To be called when a program begins: otherwise oneTBB initialises itself on
// first use and hangs if memory runs out meanwhile.
void prepare_threads();

}  // namespace mcsim
