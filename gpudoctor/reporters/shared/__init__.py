"""What the reporters have in common: layout, escaping, phrases, schemas."""
