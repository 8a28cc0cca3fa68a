"""Package managers: what apt, dnf, rpm and pip print, offer and are asked for."""
