"""The knowledge base: loading, linting, compiling check and stack files."""
