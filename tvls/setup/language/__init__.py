"""Language support for `tensorviz.toml`: pure functions from a text and a place in it to an answer."""
