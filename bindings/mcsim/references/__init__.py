"""References: requests of traces split into blocks, for caches and curves; workloads of VMs."""
