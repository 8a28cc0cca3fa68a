"""All access to the machine: processes, files, environment, network."""
