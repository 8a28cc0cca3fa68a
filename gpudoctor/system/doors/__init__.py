"""Hosts behind another door than this process: a running process, a root folder, a container, a machine by ssh."""
