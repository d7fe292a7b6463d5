# Writes OUTPUT, a header with the VERSION and a digest of what is in FILES.
set(digests "")
foreach(file IN LISTS FILES)
  file(SHA256 ${file} digest)
  string(APPEND digests ${digest})
endforeach()
string(SHA256 digest "${digests}")
string(SUBSTRING ${digest} 0 12 digest)
file(WRITE ${OUTPUT} "#pragma once\n\n#define MCSIM_INTERFACE \"${VERSION}, interface ${digest}\"\n")
