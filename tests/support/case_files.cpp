#include "tests/support/case_files.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace mcsim::testing {

std::vector<std::string> case_files() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(MCSIM_CASES)) {
    if (entry.is_regular_file()) names.push_back(entry.path().filename().string());
  }
  std::ranges::sort(names);
  return names;
}

std::string case_bytes(const std::string& name) {
  std::ifstream file(std::filesystem::path(MCSIM_CASES) / name, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace mcsim::testing
