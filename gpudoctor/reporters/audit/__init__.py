"""What an audit of dependencies found."""
