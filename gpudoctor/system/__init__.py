"""The one door to the machine: processes, files, environment, network."""
