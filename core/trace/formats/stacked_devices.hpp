#pragma once

#include <fmt/format.h>

#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/trace/reading/reader.hpp"

namespace mcsim {

// Pairs of devices in remap events: a partition and its disk, or a mapped device and a member.
class StackedDevices {
 public:
  void add(std::string_view upper, std::string_view lower) {
    if (upper == lower || (upper == last_.first && lower == last_.second)) return;
    last_ = {std::string(upper), std::string(lower)};
    pairs_.insert(last_);
  }

  // Returns a warning if the requests of both devices of a pair were read.
  std::vector<std::string> notes(const RequestReader& reader) const {
    std::vector<std::string> both;
    for (const auto& [upper, lower] : pairs_) {
      if (!reader.known_vm(upper) || !reader.known_vm(lower)) continue;
      both.push_back(fmt::format("{} on {}", upper, lower));
    }
    if (both.empty()) return {};
    const std::string more =
        both.size() > 1 ? fmt::format(" (and {} more pairs)", both.size() - 1) : "";
    return {
        fmt::format("A events: device {}{}: one I/O appears at two levels, as requests of two "
                    "VMs; select the devices of one level",
                    both.front(), more)};
  }

 private:
  std::set<std::pair<std::string, std::string>> pairs_;
  std::pair<std::string, std::string> last_;
};

}  // namespace mcsim
