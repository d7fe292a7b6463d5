// Trusts: nothing; see tests/support/fuzzing.hpp. Built as a libFuzzer program by a
// compiler that has -fsanitize=fuzzer; `./mcsim fuzz` does so and runs it.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "tests/support/fuzzing.hpp"

// The seeds are put into the folder of inputs that is named last.
extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv) {
  const std::filesystem::path folder = (*argv)[*argc - 1];
  if (!std::filesystem::is_directory(folder)) return 0;
  int number = 0;
  for (const auto& seed : mcsim::fuzzing_seeds()) {
    std::ofstream file(folder / ("seed-" + std::to_string(number++)), std::ios::binary);
    file.write(reinterpret_cast<const char*>(seed.data()),
               static_cast<std::streamsize>(seed.size()));
  }
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string wrong = mcsim::read_untrusted({data, size});
  if (wrong.empty()) return 0;
  std::fprintf(stderr, "%s\n", wrong.c_str());
  std::abort();
}
