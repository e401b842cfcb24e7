"""The store keeps what it acknowledged, on real files."""
