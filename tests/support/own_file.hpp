#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>

namespace mcsim::testing {

// The path of a file that no other process uses, for tests run side by side; the file, if there
// is one, goes with this.
class OwnFile {
 public:
  explicit OwnFile(const std::string& name)
      : path_(::testing::TempDir() + "/mcsim_" + std::to_string(::getpid()) + "_" + name) {}
  ~OwnFile() { std::filesystem::remove(path_); }
  OwnFile(const OwnFile&) = delete;
  OwnFile& operator=(const OwnFile&) = delete;

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace mcsim::testing
