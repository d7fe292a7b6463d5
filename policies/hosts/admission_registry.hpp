#pragma once

#include "core/base/registry.hpp"
#include "core/engine/tiers/admission.hpp"

namespace mcsim {

// Return the registry of admission filters.
const Registry<AdmissionFilter, AdmissionSetup>& admission_registry();

}  // namespace mcsim
