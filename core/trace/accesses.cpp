#include "core/trace/accesses.hpp"

#include "core/base/files.hpp"

namespace mcsim {

void Accesses::release_pages(RequestRange range) const {
  assert(range.begin <= range.end && range.end <= request_count());
  const auto release = [](const auto& column, std::size_t begin, std::size_t end) {
    if (!column.empty()) advise_dont_need(std::span(column.data() + begin, end - begin));
  };
  release(ids, request_begin[range.begin], request_begin[range.end]);
  const auto release_requests = [&](const auto&... column) {
    (release(column, range.begin, range.end), ...);
  };
  release_requests(request_begin, request_time, request_vm, request_op, request_response,
                   request_class, request_bytes, request_head);
}

}  // namespace mcsim
