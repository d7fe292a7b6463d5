// A shared library without policies.
extern "C" [[gnu::visibility("default")]] int answer() { return 42; }
