#pragma once

#include "core/base/registry.hpp"
#include "core/engine/tiers/admission.hpp"

namespace mcsim {

// Makes an admission filter of a name.
const Registry<AdmissionFilter, AdmissionSetup>& admission_registry();

}  // namespace mcsim
