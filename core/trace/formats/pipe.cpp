#include "core/trace/formats/pipe.hpp"

#include <algorithm>
#include <chrono>
#include <span>
#include <utility>

#include "core/base/guarded.hpp"
#include "core/trace/formats/all.hpp"

namespace mcsim {
namespace {

constexpr std::chrono::milliseconds kPatience{1000};

// Returns bytes that were read before, then the remaining bytes of their source.
class ResumedSource final : public ByteSource {
 public:
  ResumedSource(std::string head, std::unique_ptr<ByteSource> rest)
      : head_(std::move(head)), rest_(std::move(rest)) {}

  absl::StatusOr<std::size_t> read(std::span<char> buffer) override {
    const std::size_t filled = take_head(buffer);
    MCSIM_ASSIGN_OR_RETURN(const std::size_t got, rest_->read(buffer.subspan(filled)));
    return filled + got;
  }

  absl::StatusOr<std::size_t> read_some(std::span<char> buffer) override {
    if (const std::size_t filled = take_head(buffer); filled > 0) return filled;
    return rest_->read_some(buffer);
  }

  bool is_ready(std::chrono::milliseconds patience) const override {
    return at_ < head_.size() || rest_->is_ready(patience);
  }

  std::uint64_t consumed() const override { return rest_->consumed(); }

 private:
  std::size_t take_head(std::span<char> buffer) {
    const std::size_t filled = head_.copy(buffer.data(), buffer.size(), at_);
    at_ += filled;
    return filled;
  }

  std::string head_;
  std::size_t at_ = 0;
  std::unique_ptr<ByteSource> rest_;
};

}  // namespace

absl::StatusOr<TracePipe> TracePipe::open(int descriptor, const std::string& name) {
  MCSIM_ASSIGN_OR_RETURN(auto source, open_descriptor(descriptor, name));
  return TracePipe(std::move(source), name);
}

absl::Status TracePipe::check_open() const {
  if (source_ != nullptr) return absl::OkStatus();
  return absl::FailedPreconditionError(name_ + ": this pipe has a reader already");
}

absl::StatusOr<DetectedFormat> TracePipe::detect_format() {
  MCSIM_RETURN_IF_ERROR(check_open());
  while (head_.bytes.size() < Head::kMost && !head_.whole) {
    const std::size_t filled = head_.bytes.size();
    head_.bytes.resize(Head::kMost);
    const auto got = source_->read_some(std::span(head_.bytes).subspan(filled));
    head_.bytes.resize(filled + (got.ok() ? *got : 0));
    MCSIM_RETURN_IF_ERROR(got.status());
    head_.whole = *got == 0;
    if (!head_.whole && !source_->is_ready(kPatience)) {
      auto format = mcsim::detect_format(name_, head_);
      if (format.ok()) return format;
    }
  }
  return mcsim::detect_format(name_, head_);
}

absl::StatusOr<std::unique_ptr<RequestReader>> TracePipe::read(const ReadOptions& options) {
  MCSIM_RETURN_IF_ERROR(check_open());
  return guarded(name_, [&]() -> absl::StatusOr<std::unique_ptr<RequestReader>> {
    auto source =
        std::make_unique<ResumedSource>(std::move(head_.bytes), std::exchange(source_, nullptr));
    return formats().make(options.format, options.params,
                          ReaderContext{.source = std::move(source),
                                        .name = name_,
                                        .vm_name = vm_name_of(name_),
                                        .on_bad_line = options.on_bad_line,
                                        .on_unsorted = options.on_unsorted,
                                        .is_live = true});
  });
}

}  // namespace mcsim
