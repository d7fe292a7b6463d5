#pragma once

#include <string>
#include <vector>

namespace mcsim::testing {

// The files in tests/data/cases, without folders: small inputs from the field.
std::vector<std::string> case_files();

// The content of a file; empty if it does not exist.
std::string case_bytes(const std::string& name);

}  // namespace mcsim::testing
