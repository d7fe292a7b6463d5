#include "core/trace/record_reader.hpp"

namespace mcsim {

bool has_repeated_objects(const Requests& requests) {
  std::vector<std::pair<std::uint64_t, std::uint32_t>> objects;  // key and size
  for (std::size_t i = 0; i < requests.size(); ++i) {
    objects.emplace_back(requests.offset[i], requests.length[i]);
  }
  std::ranges::sort(objects);
  std::size_t repeated = 0;
  std::size_t same = 0;
  for (std::size_t i = 1; i < objects.size(); ++i) {
    repeated += objects[i].first == objects[i - 1].first;
    same += objects[i] == objects[i - 1];
  }
  return same * 2 > repeated;
}

}  // namespace mcsim
