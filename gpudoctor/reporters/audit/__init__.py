"""The result of an audit as text, JSON and the formats of pipelines."""
