#include "core/trace/interning/accesses_sink.hpp"

#include "core/trace/interning/accesses_layout.hpp"

namespace mcsim {

AccessesSink::AccessesSink(Accesses trace, std::size_t requests, std::size_t accesses,
                           std::unique_ptr<const File> file, std::span<const std::uint64_t> offsets)
    : trace_(std::move(trace)),
      requests_(requests),
      file_(std::move(file)),
      ids_(accesses, file_.get(), offsets[0]),
      begin_(requests + 1, file_.get(), offsets[1]),
      time_(requests, file_.get(), offsets[2]),
      vm_(requests, file_.get(), offsets[3]),
      op_(requests, file_.get(), offsets[4]),
      response_(trace_.keeps_responses ? requests : 0, file_.get(), offsets[5]),
      class_(trace_.keeps_classes ? requests : 0, file_.get(), offsets[6]),
      bytes_(trace_.keeps_bytes ? requests : 0, file_.get(), offsets[7]),
      head_(trace_.keeps_bytes ? requests : 0, file_.get(), offsets[8]),
      address_(trace_.keeps_addresses ? trace_.id_count() : 0, file_.get(), offsets[9]) {
  begin_.push(0);
}

AccessesSink::AccessesSink(Accesses trace, std::size_t requests, std::size_t accesses)
    : AccessesSink(std::move(trace), requests, accesses, nullptr, interning::Layout{}.begin) {}

absl::StatusOr<AccessesSink> AccessesSink::to_file(Accesses trace, std::size_t requests,
                                                   std::size_t accesses, const std::string& path) {
  MCSIM_ASSIGN_OR_RETURN(File file, File::create(path));
  const interning::Layout layout = interning::layout_of(trace, requests, accesses);
  return AccessesSink(std::move(trace), requests, accesses,
                      std::make_unique<const File>(std::move(file)), layout.begin);
}

absl::Status AccessesSink::status() const {
  absl::Status first;
  std::apply([&](const auto&... column) { (first.Update(column.status()), ...); }, columns());
  return first;
}

absl::StatusOr<Accesses> AccessesSink::finish() && {
  if (file_ == nullptr) {
    std::apply([&](auto&... made) { interning::columns_of(trace_) = std::tuple(made.take()...); },
               columns());
    return std::move(trace_);
  }
  std::apply([](auto&... column) { (column.flush(), ...); }, columns());
  MCSIM_RETURN_IF_ERROR(status());
  const auto sums = std::apply(
      [](const auto&... column) { return interning::Sums{column.checksum()...}; }, columns());
  assert(accesses_ == 0 || requests_ > 0);
  const std::vector<std::uint64_t> head = interning::head_of(trace_, requests_, accesses_, sums);
  MCSIM_RETURN_IF_ERROR(file_->extend(interning::layout_of(trace_, requests_, accesses_).end));
  MCSIM_RETURN_IF_ERROR(file_->write(std::as_bytes(std::span(head)), 0));
  MCSIM_ASSIGN_OR_RETURN(const auto mapping, file_->map());
  interning::Sums read;
  return interning::view_of(mapping->bytes(), mapping, "what was just written", read);
}

}  // namespace mcsim
