#include "tests/support/real_traces.hpp"

#include <boost/iostreams/copy.hpp>
#include <boost/iostreams/filter/zstd.hpp>
#include <boost/iostreams/filtering_stream.hpp>
#include <cstdlib>
#include <fstream>
#include <sstream>

namespace mcsim {

RealTrace real_trace(const std::string& name) {
  const char* folder = std::getenv("MCSIM_TRACE_DIR");
  if (folder == nullptr) return {.text = "", .missing = "MCSIM_TRACE_DIR is not set"};
  const std::string path = std::string(folder) + "/" + name;
  std::ifstream file(path, std::ios::binary);
  if (!file) return {.text = "", .missing = "there is no " + path};
  boost::iostreams::filtering_istream plain;
  plain.push(boost::iostreams::zstd_decompressor());
  plain.push(file);
  std::ostringstream text;
  boost::iostreams::copy(plain, text);
  return {.text = std::move(text).str(), .missing = ""};
}

std::vector<std::uint64_t> lis_keys(const std::string& text) {
  std::vector<std::uint64_t> keys;
  std::istringstream lines(text);
  std::uint64_t first = 0;
  std::uint64_t count = 0;
  std::string rest;
  while (lines >> first >> count && std::getline(lines, rest)) {
    for (std::uint64_t key = first; key < first + count; ++key) keys.push_back(key);
  }
  return keys;
}

std::vector<std::uint64_t> line_keys(const std::string& text) {
  std::vector<std::uint64_t> keys;
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    if (word != "*") keys.push_back(std::stoull(word));
  }
  return keys;
}

std::vector<std::uint64_t> msr_read_offsets(const std::string& text) {
  std::vector<std::uint64_t> offsets;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream fields(line);
    std::string time, host, disk, type, offset;
    for (std::string* field : {&time, &host, &disk, &type, &offset}) {
      std::getline(fields, *field, ',');
    }
    if (type == "Read") offsets.push_back(std::stoull(offset));
  }
  return offsets;
}

}  // namespace mcsim
