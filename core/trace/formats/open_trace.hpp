#pragma once

#include <memory>
#include <span>
#include <string>

#include "core/trace/reading/reader.hpp"

// Detects the format of a file and opens it.
namespace mcsim {

struct DetectedFormat {
  std::string name;
  std::string note;          // a warning for the user, or ""
  bool needs_order = false;  // as in Guess
};

// Returns the best guess. The error lists all candidates, or else the beginning of the file and the
// nearest format with its objection.
absl::StatusOr<DetectedFormat> decide(const std::string& name, const Head& head,
                                      std::span<const Guess> guesses);

// Detects the format of a file by its content.
absl::StatusOr<DetectedFormat> detect_format(const std::string& path);
absl::StatusOr<DetectedFormat> detect_format(const std::string& name, const Head& head);

struct ReadOptions {
  std::string format;  // empty: detect it
  ParamMap params;
  OnBadLine on_bad_line = OnBadLine::kError;
  OnUnsorted on_unsorted = OnUnsorted::kError;
};

absl::StatusOr<std::unique_ptr<RequestReader>> open_trace(const std::string& path,
                                                          const ReadOptions& options);

}  // namespace mcsim
