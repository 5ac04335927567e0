"""Saved setup: profiles of `tensorviz.toml`, setups of requests and command lines, and what a target still needs."""
