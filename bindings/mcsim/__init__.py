"""mcsim: a simulator of host-side storage caches shared by many virtual machines."""
