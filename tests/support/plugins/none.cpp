// A shared library that knows nothing of mcsim.
extern "C" [[gnu::visibility("default")]] int answer() { return 42; }
