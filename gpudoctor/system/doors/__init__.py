"""Hosts for what is examined instead of this machine: a running process, a root folder, a container, a machine by ssh."""
