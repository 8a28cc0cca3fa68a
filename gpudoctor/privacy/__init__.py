"""Redaction: people, hosts, secrets and projects are taken out of texts, and the technical words stay."""
