#pragma once

#include <memory>
#include <string>

#include "core/base/status.hpp"
#include "core/trace/decompress.hpp"
#include "core/trace/reader.hpp"

namespace mcsim {

// A trace that comes through a pipe. Its reader returns chunks as soon as no more requests have
// come, and numbers text keys by hashes, so that memory does not grow with the trace.
class TracePipe {
 public:
  // Takes the descriptor. `name` begins every message, and names a VM without a name.
  static absl::StatusOr<TracePipe> open(int descriptor, const std::string& name);

  // Detects the format by the beginning, of which files are detected; or by less, if it fits one
  // format and nothing comes for a second.
  absl::StatusOr<std::string> detect_format();

  // Returns the reader of a stated format. The pipe has no more use then.
  absl::StatusOr<std::unique_ptr<RequestReader>> read(const ReadOptions& options);

 private:
  TracePipe(std::unique_ptr<ByteSource> source, std::string name)
      : source_(std::move(source)), name_(std::move(name)) {}

  std::unique_ptr<ByteSource> source_;
  std::string name_;
  Head head_;
};

}  // namespace mcsim
