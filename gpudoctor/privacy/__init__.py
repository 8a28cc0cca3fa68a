"""Redaction: removes people, hosts, secrets and projects from texts, and keeps the technical words."""
